import ChatterdLanguageModels

/// The slot of the model server that is asked.
extension ReplyMaker {
    /// Waits for a slot of a server that has slots, unless it has one already.
    func takeSlot(of description: UpstreamDescription) async throws(RelayError) {
        guard ticket == nil, let slots = service.slots, let count = description.slots else { return }
        let ticket = SlotTicket(upstream: description.name, slots: count, reply: reply.id, appID: reply.turn.appID)
        self.ticket = ticket
        defer { reply.waits(at: nil) }
        do throws(RelayError) {
            try await slots.take(ticket, on: service.scheduler) { [weak self] place in self?.reply.waits(at: place) }
        } catch {
            self.ticket = nil
            throw cancellation ?? error
        }
    }

    /// Whether the reply has a slot and other replies wait for one; `false` if the store does not answer.
    func isSlotWanted() async -> Bool {
        guard let ticket, let slots = service.slots else { return false }
        return (try? await slots.isAnyoneWaiting(at: ticket.upstream)) ?? false
    }

    /// Keeps the ticket in the queue for the next owner of the reply.
    func keepTicket() {
        if let ticket = ticket.take() {
            service.slots?.forget(ticket)
        }
    }

    /// Lets others have it.
    func giveSlotBack() {
        if let ticket = ticket.take() {
            service.slots?.giveBack(ticket)
        }
    }
}
