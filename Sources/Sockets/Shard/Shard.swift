import CChatterdSystem
import ChatterdBasics
import Dispatch
import Glibc
import Synchronization

/// One of the few loops that everything runs on: a serial queue, an epoll set, and one source that watches the set.
///
/// A turn takes what the set reports, runs the handlers, the timers, the tasks that became ready, and at last sends what the
/// streams of the turn have gathered: one `send` a stream and turn. The shard is the task executor of the tasks that live on
/// it (`Task(executorPreference:)`), so that an `await` never leaves it.
///
/// While work keeps coming, the turn waits a moment for more instead of going back to Dispatch: a busy shard costs what a
/// thread of its own would, an idle one holds no thread.
public final class Shard: TaskExecutor, Confinement, @unchecked Sendable {
    /// How long a turn waits for more work before it goes back to Dispatch.
    private static let lingerMilliseconds: Int32 = 20
    private static let eventCapacity: Int32 = 256
    private static let readCapacity = 64 * 1024
    /// What buffers of the pool may hold on to, in bytes; a larger one is let go.
    private static let pooledCapacity = 128 * 1024
    /// What a new buffer has room for, in bytes: some tokens. Hundreds are in use in a turn that many streams get one in.
    private static let freshCapacity = 1024
    /// The maximum number of passes in a turn, and of generations of tasks in a pass. Work that keeps creating work must not delay
    /// other connections and other shards.
    private static let passesPerTurn = 16
    private static let generationsPerPass = 256
    private static let wakeTag = UInt64.max
    private static let clockTag = UInt64.max - 1

    /// The place of this shard among its siblings.
    public let index: Int

    private let queue: DispatchQueue
    private let set: Int32
    private let wakeDescriptor: Int32
    private let clockDescriptor: Int32
    private let source: any DispatchSourceRead
    private let events: OpaquePointer

    /// The thread of the turn that is running, 0 between turns.
    private let turnThread = Atomic<UInt>(0)
    /// Work from other threads.
    private let remote = Lock(RemoteWork())

    // What follows is touched by the turn only.

    /// The monotonic clock as this turn read it.
    public private(set) var now: Instant

    /// Reads the monotonic clock. Safe on any thread, unlike `now`.
    public static func readClock() -> Instant { Instant(nanoseconds: csystem_monotonic_ns()) }

    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var jobs: [UnownedJob] = []
    private var runningJobs: [UnownedJob] = []
    private var wheel: TimerWheel
    private var armedFor = UInt64.max
    private var isTimeUp = false
    private var unflushed: [TCPStream] = []
    private var flushing: [TCPStream] = []
    private var eager: [TCPStream] = []
    private var reading: [TCPStream] = []
    private var pool: [ByteBuffer] = []
    let readBuffer: UnsafeMutableBufferPointer<UInt8>

    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any ReadinessHandler)?
    }

    private struct RemoteWork {
        var jobs: [UnownedJob] = []
        var blocks: [@Sendable () -> Void] = []
    }

    /// Makes a shard and starts it.
    ///
    /// - Throws: `system` when the process has no descriptors left.
    public init(index: Int) throws(SocketError) {
        func checked(_ result: Int32, _ operation: String) throws(SocketError) -> Int32 {
            guard result >= 0 else { throw SocketError(errno: Int(result), operation) }
            return result
        }
        self.index = index
        queue = DispatchQueue(label: "chatterd.shard.\(index)", qos: .userInitiated)
        set = try checked(csystem_epoll_create(), "epoll_create1")
        wakeDescriptor = try checked(csystem_eventfd(), "eventfd")
        clockDescriptor = try checked(csystem_timerfd(), "timerfd_create")
        _ = try checked(csystem_epoll_add_level(set, wakeDescriptor, Self.wakeTag), "epoll_ctl")
        _ = try checked(csystem_epoll_add_level(set, clockDescriptor, Self.clockTag), "epoll_ctl")
        events = csystem_events_create(Self.eventCapacity)
        readBuffer = .allocate(capacity: Self.readCapacity)
        now = Self.readClock()
        wheel = TimerWheel(now: now.nanoseconds)
        source = DispatchSource.makeReadSource(fileDescriptor: set, queue: queue)
        // Keeps the shard alive for good: its source may fire as long as there is one.
        source.setEventHandler { [self] in turn() }
        source.activate()
    }

    /// Makes one shard for each core.
    public static func makeAll(count: Int) throws(SocketError) -> [Shard] {
        var shards: [Shard] = []
        for index in 0..<max(1, count) {
            shards.append(try Shard(index: index))
        }
        return shards
    }

    // Shards live as long as the process: their descriptors are never closed.

    /// Whether the caller runs on this shard.
    public var isCurrent: Bool {
        turnThread.load(ordering: .relaxed) == pthread_self()
    }

    /// Stops the process when the caller does not run on this shard.
    public func preconditionCurrent() {
        precondition(isCurrent, "called from outside of its shard")
    }

    /// Runs a block on the shard, soon; may be called from any thread.
    public func run(_ block: @escaping @Sendable () -> Void) {
        let wasEmpty = remote.withLock { work in
            let wasEmpty = work.jobs.isEmpty && work.blocks.isEmpty
            work.blocks.append(block)
            return wasEmpty
        }
        if wasEmpty {
            _ = csystem_eventfd_signal(wakeDescriptor)
        }
    }

    /// Takes a job of the Swift runtime; may be called from any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
            return
        }
        let wasEmpty = remote.withLock { work in
            let wasEmpty = work.jobs.isEmpty && work.blocks.isEmpty
            work.jobs.append(job)
            return wasEmpty
        }
        if wasEmpty {
            _ = csystem_eventfd_signal(wakeDescriptor)
        }
    }

    // MARK: - Turns

    private func turn() {
        turnThread.store(pthread_self(), ordering: .relaxed)
        var timeout: Int32 = 0
        while true {
            let count = csystem_epoll_wait(set, events, timeout)
            now = Self.readClock()
            precondition(count >= 0, "epoll_wait failed")
            if count == 0, !hasWork {
                break
            }
            for index in 0..<count {
                handle(event: index)
            }
            if isTimeUp {
                runTimers()
            }
            settle()
            timeout = hasWork ? 0 : Self.lingerMilliseconds
        }
        turnThread.store(0, ordering: .relaxed)
    }

    /// Whether the turn has left work for the next one.
    private var hasWork: Bool { !eager.isEmpty || !jobs.isEmpty || !unflushed.isEmpty }

    private func handle(event index: Int32) {
        let tag = csystem_event_tag(events, index)
        switch tag {
        case Self.wakeTag:
            _ = csystem_eventfd_clear(wakeDescriptor)
            runRemoteWork()
        case Self.clockTag:
            _ = csystem_timerfd_clear(clockDescriptor)
            armedFor = .max
            isTimeUp = true
        default:
            let slot = Int(truncatingIfNeeded: tag & 0xffff_ffff)
            // An event of a descriptor that was closed earlier in this turn carries an old generation.
            guard slots[slot].generation == UInt32(truncatingIfNeeded: tag >> 32) else { return }
            slots[slot].handler?.becameReady(Readiness(rawValue: csystem_event_bits(events, index)))
        }
    }

    /// Runs the work that events have made ready, and sends its output. Repeats this for the work that results, up to a limit.
    private func settle() {
        var passesLeft = Self.passesPerTurn
        repeat {
            passesLeft -= 1
            if !eager.isEmpty {
                swap(&eager, &reading)
                for stream in reading {
                    stream.continueReading()
                }
                reading.removeAll(keepingCapacity: true)
            }
            runJobs()
            flush()
        } while passesLeft > 0 && (!jobs.isEmpty || !unflushed.isEmpty)
        armClock()
    }

    private func runJobs() {
        var generationsLeft = Self.generationsPerPass
        while !jobs.isEmpty, generationsLeft > 0 {
            generationsLeft -= 1
            swap(&jobs, &runningJobs)
            for job in runningJobs {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
            runningJobs.removeAll(keepingCapacity: true)
        }
    }

    private func runRemoteWork() {
        let work = remote.withLock { work in
            let taken = work
            work = RemoteWork()
            return taken
        }
        jobs.append(contentsOf: work.jobs)
        for block in work.blocks {
            block()
        }
    }

    // MARK: - Timers

    /// After the handlers: after a long turn, what has arrived in time is seen before a deadline says that it has not.
    private func runTimers() {
        isTimeUp = false
        while let timer = wheel.next(dueBy: now.nanoseconds) {
            timer.slotCameUp(now: now.nanoseconds)
            // Thousands of streams may want to say that they are alive: their output need not be held all at once.
            if unflushed.count >= Self.eventCapacity {
                flush()
            }
        }
    }

    func insert(_ timer: DeadlineTimer) {
        wheel.insert(timer, now: now.nanoseconds)
    }

    func remove(_ timer: DeadlineTimer) {
        wheel.remove(timer)
    }

    private func armClock() {
        guard let deadline = wheel.nextDeadline, deadline < armedFor else { return }
        armedFor = deadline
        _ = csystem_timerfd_arm(clockDescriptor, max(deadline, 1))
    }

    // MARK: - Descriptors

    /// Watches a descriptor, edge-triggered, for reading, writing and hang-up, until `unregister`.
    ///
    /// The handler is kept alive meanwhile. Each change is reported once: the handler reads or writes until it would block.
    public func register(_ descriptor: Int32, handler: any ReadinessHandler) throws(SocketError) -> Registration {
        if freeSlots.isEmpty {
            freeSlots.append(slots.count)
            slots.append(Slot())
        }
        let slot = freeSlots.removeLast()
        slots[slot].handler = handler
        let tag = UInt64(slots[slot].generation) << 32 | UInt64(slot)
        let status = csystem_epoll_add(set, descriptor, tag)
        guard status >= 0 else {
            slots[slot].handler = nil
            freeSlots.append(slot)
            throw SocketError(errno: Int(status), "epoll_ctl")
        }
        return Registration(slot: slot, descriptor: descriptor)
    }

    /// Ends watching; call it before the descriptor is closed.
    public func unregister(_ registration: Registration) {
        _ = csystem_epoll_remove(set, registration.descriptor)
        slots[registration.slot].handler = nil
        slots[registration.slot].generation &+= 1
        freeSlots.append(registration.slot)
    }

    // MARK: - Output

    private func flush() {
        swap(&unflushed, &flushing)
        for stream in flushing {
            stream.flush()
        }
        flushing.removeAll(keepingCapacity: true)
    }

    /// Has the stream flush itself at the end of the turn.
    func flushLater(_ stream: TCPStream) {
        unflushed.append(stream)
    }

    /// Has the stream go on reading after the events of this turn.
    func readLater(_ stream: TCPStream) {
        eager.append(stream)
    }

    /// An empty buffer, with storage where one was given back.
    public func takeBuffer() -> ByteBuffer {
        pool.popLast() ?? ByteBuffer(capacity: Self.freshCapacity)
    }

    /// Takes a buffer back.
    public func giveBack(_ buffer: consuming ByteBuffer) {
        guard pool.count < 64, buffer.capacity <= Self.pooledCapacity else { return }
        buffer.removeAll()
        pool.append(buffer)
    }
}
