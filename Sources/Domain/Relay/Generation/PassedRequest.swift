import ChatterdChat
import ChatterdIdentity

/// A request that the server passes on to a model server, outside of all conversations. It counts against the limits of replies:
/// `CHATTERD_MAX_REPLIES`, and the slots of the server. Confined to its shard.
public final class PassedRequest {
    /// The name of the request in the queue and among the charges.
    public let id: ReplyID
    /// `nil` if the request has no owner.
    private let owner: Owner?
    private let board: TurnBoard
    private let slots: SlotQueue?
    private let scheduler: Scheduler
    private var ticket: SlotTicket?
    private var isEnded = false

    fileprivate init(_ id: ReplyID, of owner: Owner?, board: TurnBoard, slots: SlotQueue?, scheduler: Scheduler) {
        self.id = id
        self.owner = owner
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
            upstream: description.name, slots: count, reply: id, owner: SlotTicket.passed(by: owner))
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
        board.release(for: owner?.app ?? "")
    }
}

extension ChatService {
    /// Counts a passed-on request towards the limit of replies. Its `end` releases the reservation.
    ///
    /// - Parameter owner: the owner of the credential; `nil` for a request without a credential.
    /// - Throws: `overloaded`, `shuttingDown`.
    public func admitPassedRequest(of owner: Owner?) throws(RelayError) -> PassedRequest {
        try refuseWhenStopping()
        try board.reserve(for: owner?.app ?? "")
        return PassedRequest(
            makeID(Partition(number: 0)), of: owner, board: board, slots: slots, scheduler: scheduler)
    }

    /// Refuses a request outside of conversations for a text of a model, if hooks check the prompts or answers of the app: they would see neither.
    ///
    /// - Throws: `promptRefused`.
    public func requireNoReview(of owner: Owner?) throws(RelayError) {
        let app = owner?.app ?? ""
        guard let hooks, hooks.reviewsPrompts(of: app) || hooks.reviewsAnswers(of: app) else { return }
        throw RelayError(
            .promptRefused,
            "The rules of this server check prompts and answers of conversations, so this request is not passed on. Use /llmchat."
        )
    }
}
