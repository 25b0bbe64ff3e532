import ChatterdIdentity
import ChatterdLanguageModels

/// A request that the server passes on to a model server, outside of all conversations. It counts against the limits of replies:
/// `CHATTERD_MAX_REPLIES`, and the slots of the server. Confined to its shard.
public final class PassedRequest {
    private let id: ReplyID
    private let board: TurnBoard
    private let slots: SlotQueue?
    private let scheduler: Scheduler
    private var ticket: SlotTicket?
    private var isEnded = false

    fileprivate init(_ id: ReplyID, board: TurnBoard, slots: SlotQueue?, scheduler: Scheduler) {
        self.id = id
        self.board = board
        self.slots = slots
        self.scheduler = scheduler
    }

    /// Waits for a slot if the server has slots.
    ///
    /// - Throws: `overloaded` if the queue is full; `cancelled` after `end`; `storeUnavailable`.
    public func acquireSlot(of description: UpstreamDescription) async throws(RelayError) {
        guard let slots, let count = description.slots else { return }
        try await slots.reserveAdmission(at: description, on: scheduler)
        guard !isEnded else {
            slots.releaseAdmission(at: description)
            throw RelayError(.cancelled, "The client left.")
        }
        let ticket = SlotTicket(
            upstream: description.name, slots: count, reply: id, appID: SlotTicket.noConversation)
        self.ticket = ticket
        try await slots.acquire(ticket, on: scheduler) { _ in }
    }

    /// Releases the slot and the reservation, and ends a wait for the slot. A second call has no effect.
    public func end() {
        guard !isEnded else { return }
        isEnded = true
        if let ticket {
            slots?.release(ticket)
        }
        board.release()
    }
}

extension ChatService {
    /// Counts a passed-on request towards the limit of replies. Its `end` releases the reservation.
    ///
    /// - Throws: `overloaded`, `shuttingDown`.
    public func admitPassedRequest() throws(RelayError) -> PassedRequest {
        try refuseWhenStopping()
        try board.reserve()
        return PassedRequest(makeID(Partition(number: 0)), board: board, slots: slots, scheduler: scheduler)
    }
}
