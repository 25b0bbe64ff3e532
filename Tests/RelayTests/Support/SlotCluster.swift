import ChatterdChat
import ChatterdRelay
import Testing

/// Several processes with a queue each, over one store of slots and one manual clock.
final class SlotCluster {
    let clock = ManualClock()
    let slots = MemorySlots()
    private(set) var processes: [SlotProcess] = []
    /// The number of slots in new tickets.
    var slotCount: Int

    init(slots count: Int = 1) {
        slotCount = count
        addProcess()
    }

    /// The first process.
    var process: SlotProcess { processes[0] }

    /// Adds a process.
    @discardableResult
    func addProcess() -> SlotProcess {
        let process = SlotProcess(self, number: processes.count + 1)
        processes.append(process)
        return process
    }

    /// Releases a slot. Returns the one of `others` that gets it.
    func passSlot(from running: SlotReply, to others: [SlotReply]) throws -> SlotReply {
        let before = others.map(\.hasSlot)
        running.release()
        let next = zip(others, before).filter { $0.hasSlot && !$1 }.map(\.0)
        try #require(next.count == 1)
        return next[0]
    }
}

/// A process with a queue, and one more shard for its replies.
final class SlotProcess {
    let store: MemorySlotStore
    let queue: SlotQueue
    private unowned let cluster: SlotCluster
    private let home: ManualShard

    init(_ cluster: SlotCluster, number: Int) {
        self.cluster = cluster
        store = MemorySlotStore(cluster.slots, process: number)
        queue = SlotQueue(
            store: store, limits: RelayLimits(), scheduler: cluster.clock.scheduler(of: cluster.clock.makeShard()))
        home = cluster.clock.makeShard()
    }

    /// Requests a slot for a new reply.
    @discardableResult
    func request(_ owner: String, reply: ReplyID? = nil) -> SlotReply {
        var generator = SystemRandomNumberGenerator()
        let ticket = SlotTicket(
            upstream: "u", slots: cluster.slotCount, reply: reply ?? ReplyID(using: &generator), owner: owner)
        let reply = SlotReply(ticket, queue: queue, clock: cluster.clock)
        let scheduler = cluster.clock.scheduler(of: home)
        Task(executorPreference: home) { [queue] in
            do throws(RelayError) {
                try await queue.acquire(ticket, on: scheduler) { reply.positions.append($0) }
                reply.hasSlot = true
            } catch {
                reply.outcome = error.code
            }
        }
        cluster.clock.settle()
        return reply
    }

    /// Reserves an admission. Returns the refusal; `nil` if the prompt is admitted.
    func reserveAdmission(slots: Int? = 0, limit: Int) -> RelayError? {
        var description = UpstreamDescription(name: "u", kind: .ollama)
        description.slots = slots == 0 ? cluster.slotCount : slots
        description.queueLimit = limit
        let found = Refused()
        let scheduler = cluster.clock.scheduler(of: home)
        Task(executorPreference: home) { [queue, description] in
            do throws(RelayError) {
                try await queue.reserveAdmission(at: description, on: scheduler)
            } catch {
                found.error = error
            }
            found.isOver = true
        }
        cluster.clock.settle()
        #expect(found.isOver)
        return found.error
    }
}

extension SlotProcess {
    /// Releases the admission of a prompt.
    func releaseAdmission() {
        queue.releaseAdmission(at: UpstreamDescription(name: "u", kind: .ollama))
    }
}

/// A reply that waits for a slot or has one.
final class SlotReply: @unchecked Sendable {
    let ticket: SlotTicket
    fileprivate(set) var hasSlot = false
    /// The reason why it got no slot.
    fileprivate(set) var outcome: RelayError.Code?
    /// The reported queue positions.
    fileprivate(set) var positions: [QueuePosition] = []
    private let queue: SlotQueue
    private let clock: ManualClock

    fileprivate init(_ ticket: SlotTicket, queue: SlotQueue, clock: ManualClock) {
        self.ticket = ticket
        self.queue = queue
        self.clock = clock
    }

    /// Whether the reply still waits.
    var isWaiting: Bool { !hasSlot && outcome == nil }

    func release() {
        queue.release(ticket)
        clock.settle()
    }
}

private final class Refused: @unchecked Sendable {
    var error: RelayError?
    var isOver = false
}
