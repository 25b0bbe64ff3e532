import ChatterdLanguageModels
import ChatterdRelay
import Testing

/// Processes with queues of their own over one database of slots, and a clock that the test moves.
final class Hall {
    let clock = HandClock()
    let slots = MemorySlots()
    private(set) var processes: [SlotProcess] = []
    /// The slots that new tickets say there are.
    var slotCount: Int

    init(slots count: Int = 1) {
        slotCount = count
        open()
    }

    /// The first one.
    var process: SlotProcess { processes[0] }

    /// Another process.
    @discardableResult
    func open() -> SlotProcess {
        let process = SlotProcess(self, number: processes.count + 1)
        processes.append(process)
        return process
    }

    /// Gives a slot back; the one of `others` that gets it.
    func passOn(from running: SlotReply, to others: [SlotReply]) throws -> SlotReply {
        let before = others.map(\.hasSlot)
        running.release()
        let next = zip(others, before).filter { $0.hasSlot && !$1 }.map(\.0)
        try #require(next.count == 1)
        return next[0]
    }
}

/// A process with a queue, and a shard for its replies beside the queue's own.
final class SlotProcess {
    let store: MemorySlotStore
    let queue: SlotQueue
    private unowned let hall: Hall
    private let home: HandShard

    init(_ hall: Hall, number: Int) {
        self.hall = hall
        store = MemorySlotStore(hall.slots, process: number)
        queue = SlotQueue(
            store: store, limits: RelayLimits(), scheduler: hall.clock.scheduler(of: hall.clock.makeShard()))
        home = hall.clock.makeShard()
    }

    /// A reply that wants a slot.
    @discardableResult
    func take(_ appID: String, reply: ReplyID? = nil) -> SlotReply {
        var generator = SystemRandomNumberGenerator()
        let ticket = SlotTicket(
            upstream: "u", slots: hall.slotCount, reply: reply ?? ReplyID(using: &generator), appID: appID)
        let reply = SlotReply(ticket, queue: queue, clock: hall.clock)
        let scheduler = hall.clock.scheduler(of: home)
        Task(executorPreference: home) { [queue] in
            do throws(RelayError) {
                try await queue.acquire(ticket, on: scheduler) { reply.places.append($0) }
                reply.hasSlot = true
            } catch {
                reply.outcome = error.code
            }
        }
        hall.clock.settle()
        return reply
    }

    /// Asks whether there is room; the refusal, if there is none.
    func reserveAdmission(slots: Int? = 0, limit: Int) -> RelayError? {
        var description = UpstreamDescription(name: "u", kind: .ollama)
        description.slots = slots == 0 ? hall.slotCount : slots
        description.queueLimit = limit
        let found = Refused()
        let scheduler = hall.clock.scheduler(of: home)
        Task(executorPreference: home) { [queue, description] in
            do throws(RelayError) {
                try await queue.reserveAdmission(at: description, on: scheduler)
            } catch {
                found.error = error
            }
            found.isOver = true
        }
        hall.clock.settle()
        #expect(found.isOver)
        return found.error
    }
}

extension SlotProcess {
    /// A prompt that was let in does not come.
    func releaseAdmission() {
        queue.releaseAdmission(at: UpstreamDescription(name: "u", kind: .ollama))
    }
}

/// A reply that wants a slot, or has one.
final class SlotReply: @unchecked Sendable {
    let ticket: SlotTicket
    fileprivate(set) var hasSlot = false
    /// Why it got none.
    fileprivate(set) var outcome: RelayError.Code?
    /// The places that it was told.
    fileprivate(set) var places: [QueuePlace] = []
    private let queue: SlotQueue
    private let clock: HandClock

    fileprivate init(_ ticket: SlotTicket, queue: SlotQueue, clock: HandClock) {
        self.ticket = ticket
        self.queue = queue
        self.clock = clock
    }

    /// Whether nothing has come of it yet.
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
