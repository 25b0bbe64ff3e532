import LanguageModels

/// A request that is passed on to a model server as it is, outside of all conversations. It counts against the same limits as a
/// reply: `CHATTERD_MAX_REPLIES`, and the slots of the server. Confined to its shard.
public final class PassedRequest {
    private let service: ChatService
    private var ticket: SlotTicket?
    private var isEnded = false

    fileprivate init(_ service: ChatService) {
        self.service = service
    }

    /// Waits for a slot of a server that has slots.
    ///
    /// - Throws: `overloaded` when its queue is full; `cancelled` after `end`; `storeUnavailable`.
    public func takeSlot(of description: UpstreamDescription) async throws(RelayError) {
        guard let slots = service.slots, let count = description.slots else { return }
        try await slots.requireRoom(at: description, on: service.scheduler)
        guard !isEnded else {
            slots.giveRoomBack(at: description)
            throw RelayError(.cancelled, "The client left.")
        }
        let ticket = SlotTicket(
            upstream: description.name, slots: count, reply: service.makeID(), appID: SlotTicket.noConversation)
        self.ticket = ticket
        try await slots.take(ticket, on: service.scheduler) { _ in }
    }

    /// Gives its slot and its place back; a wait for the slot ends. A second call has no effect.
    public func end() {
        guard !isEnded else { return }
        isEnded = true
        if let ticket {
            service.slots?.giveBack(ticket)
        }
        service.board.release()
    }
}

extension ChatService {
    /// Takes a place for a request that is passed on; its `end` gives it back.
    ///
    /// - Throws: `overloaded`, `shuttingDown`.
    public func admitPassedRequest() throws(RelayError) -> PassedRequest {
        try refuseWhenStopping()
        try board.reserve()
        return PassedRequest(self)
    }
}
