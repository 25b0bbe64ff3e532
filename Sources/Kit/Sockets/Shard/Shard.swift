import CChatterdSystem
import ChatterdBasics
import Dispatch
import Glibc
import Synchronization

/// An event loop: a serial queue, an epoll set, a timer wheel, and a Dispatch source that watches the set.
///
/// A turn reads the events of the set, runs the handlers, the timers and the tasks that became ready, and then sends the output of its
/// streams: one `send` for each stream and turn. The shard is the task executor of its tasks (`Task(executorPreference:)`), so that an
/// `await` never leaves it.
///
/// While work keeps arriving, the turn waits a moment for more instead of returning to Dispatch. A busy shard costs as much as a
/// thread of its own; an idle one holds no thread.
///
/// The class is `@unchecked Sendable` because `run`, `enqueue` and the static members may be called on any thread; everything else is
/// touched by the turn only.
public final class Shard: TaskExecutor, Confinement, @unchecked Sendable {
    /// How long a turn waits for more work before it returns to Dispatch.
    private static let lingerMilliseconds: Int32 = 20
    private static let eventCapacity: Int32 = 256
    private static let readCapacity = 64 * 1024
    /// The capacity limit of a pooled buffer, in bytes: the output of one read, which is a little longer than the read, in a buffer that
    /// doubled until then. A larger one is deallocated.
    private static let pooledCapacity = 256 * 1024
    /// The maximum number of pooled buffers, and of their bytes.
    private static let poolLimit = 64
    private static let pooledBytes = 8 * 1024 * 1024
    /// The capacity of a new buffer, in bytes: some tokens. Hundreds of buffers are in use when many streams get a token in one turn.
    private static let freshCapacity = 1024
    /// The number of bytes that streams with many bytes read in one turn. A turn beside a flood then takes a part of a millisecond.
    private static let eagerBytesPerTurn = 128 * 1024
    /// The maximum number of passes in a turn, and of generations of tasks in a pass. Work that keeps creating work must not delay
    /// other connections and other shards.
    private static let passesPerTurn = 16
    private static let generationsPerPass = 256
    private static let wakeTag = UInt64.max
    private static let clockTag = UInt64.max - 1

    /// The index of this shard among its siblings.
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

    // The turn alone touches the members below.

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
    private var held = HoldQueue<TCPStream>()
    private var eager = Queue<TCPStream>()
    private var pool: [ByteBuffer] = []
    private var pooled = 0
    let readBuffer: UnsafeMutableBufferPointer<UInt8>

    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any ReadinessHandler)?
    }

    private struct RemoteWork {
        var jobs: [UnownedJob] = []
        var blocks: [@Sendable () -> Void] = []
    }

    /// Creates a shard and starts it. It ends with its last reference. Its open streams and running tasks have references.
    ///
    /// - Throws: `system` if the process has no descriptors left.
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
        source.setEventHandler { [weak self] in self?.turn() }
        source.setCancelHandler { [set, wakeDescriptor, clockDescriptor] in
            // Dispatch watches the set until this handler runs.
            for descriptor in [set, wakeDescriptor, clockDescriptor] {
                close(descriptor)
            }
        }
        source.activate()
    }

    deinit {
        source.cancel()
        csystem_events_destroy(events)
        readBuffer.deallocate()
    }

    /// Creates `count` shards, but at least one.
    public static func makeAll(count: Int) throws(SocketError) -> [Shard] {
        var shards: [Shard] = []
        for index in 0..<max(1, count) {
            shards.append(try Shard(index: index))
        }
        return shards
    }

    /// Whether the caller runs on this shard.
    public var isCurrent: Bool {
        turnThread.load(ordering: .relaxed) == pthread_self()
    }

    /// Stops the program unless the caller runs on this shard.
    public func preconditionCurrent() {
        precondition(isCurrent, "called outside of its shard")
    }

    /// Runs a block on the shard after the present work. Safe on any thread.
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

    /// Runs a block on the shard and returns its value. Blocks a caller on another thread, so it is for short work at the start of
    /// the program.
    func callAndWait<Value: Sendable>(_ block: @escaping @Sendable () -> Value) -> Value {
        guard !isCurrent else { return block() }
        let (done, result) = (DispatchSemaphore(value: 0), Lock<Value?>(nil))
        run {
            let value = block()
            result.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        guard let value = result.withLock({ $0 }) else { preconditionFailure("the block has not run") }
        return value
    }

    /// Accepts a job of the Swift runtime. Safe on any thread.
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
            if count == 0, !hasWork, held.wait(at: now) == nil {
                break
            }
            for index in 0..<count {
                handle(event: index)
            }
            if isTimeUp {
                runTimers()
            }
            while let stream = held.next(at: now) {
                stream.endHold()
            }
            settle()
            timeout = hasWork ? 0 : held.wait(at: now) ?? Self.lingerMilliseconds
        }
        turnThread.store(0, ordering: .relaxed)
    }

    /// Whether work is left for another pass of the loop.
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
            // An event of a descriptor that was closed earlier in this turn has an old generation.
            guard slots[slot].generation == UInt32(truncatingIfNeeded: tag >> 32) else { return }
            slots[slot].handler?.becameReady(Readiness(rawValue: csystem_event_bits(events, index)))
        }
    }

    /// Runs the work that events have made ready, and sends its output. Repeats this for the work that results, up to a limit.
    private func settle() {
        var passesLeft = Self.passesPerTurn
        var bytesLeft = Self.eagerBytesPerTurn
        repeat {
            passesLeft -= 1
            if !eager.isEmpty, bytesLeft > 0 {
                // The output of one read leaves before the next read adds to it, so that its buffer stays small enough for the pool.
                flush()
                var streamsLeft = eager.count
                while bytesLeft > 0, streamsLeft > 0, let stream = eager.popFirst() {
                    streamsLeft -= 1
                    bytesLeft -= stream.continueReading()
                }
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
            defer { work = RemoteWork() }
            return work
        }
        jobs.append(contentsOf: work.jobs)
        for block in work.blocks {
            block()
        }
    }

    // MARK: - Timers

    /// Runs after the handlers, so that bytes which arrived in time are read before a deadline reports their absence, except those that
    /// wait for their turn (`TCPStream.isWaitingToRead`).
    private func runTimers() {
        isTimeUp = false
        while let timer = wheel.next(dueBy: now.nanoseconds) {
            timer.slotCameUp(now: now.nanoseconds)
            // Thousands of streams may send a keep-alive at once. Their output need not be held together.
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

    /// Watches a descriptor, edge-triggered, for reading, writing and hang-up, until `unregister`. It retains the handler.
    ///
    /// Each change is reported once: the handler reads or writes until the call would block.
    ///
    /// - Throws: `system` if the set can watch no more descriptors.
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

    /// Stops watching a descriptor. Call it before the descriptor is closed.
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

    /// Flushes the stream at the end of the turn.
    func flushLater(_ stream: TCPStream) {
        unflushed.append(stream)
    }

    /// Flushes the stream within 5 ms, if nothing does so earlier (docs/decisions/0047-heads-wait.md).
    func hold(_ stream: TCPStream) {
        held.append(stream, at: now)
    }

    /// Lets the stream read after the events of this turn, or of a later one: all streams with many bytes take turns.
    func readLater(_ stream: TCPStream) {
        eager.append(stream)
    }

    /// Returns an empty buffer, with the storage of a released one if the pool has any.
    public func acquireBuffer() -> ByteBuffer {
        guard let buffer = pool.popLast() else { return ByteBuffer(capacity: Self.freshCapacity) }
        pooled -= buffer.capacity
        return buffer
    }

    /// Returns a buffer to the pool.
    public func releaseBuffer(_ buffer: consuming ByteBuffer) {
        let capacity = buffer.capacity
        guard pool.count < Self.poolLimit, capacity <= Self.pooledCapacity, pooled + capacity <= Self.pooledBytes else {
            return
        }
        buffer.removeAll()
        pooled += capacity
        pool.append(consume buffer)
    }
}

/// A descriptor that a shard watches, and its slot there.
public struct Registration: Sendable {
    let slot: Int
    let descriptor: Int32
}

/// Reads and writes a descriptor that a shard watches.
public protocol ReadinessHandler: AnyObject {
    /// The descriptor became ready. Called on the shard.
    func becameReady(_ readiness: Readiness)
}
