import ChatterdChat
import ChatterdIdentity

/// The slot of a model server that a reply has or waits for. Confined to its shard.
struct ReplySlot {
    private let queue: SlotQueue?
    private var ticket: SlotTicket?

    /// - Parameter queue: the queues of the servers; `nil` if no server has slots.
    init(_ queue: SlotQueue?) {
        self.queue = queue
    }

    /// Whether the reply has a slot or waits for one.
    var isUsed: Bool { ticket != nil }

    /// Whether the server has slots and the reply has none of them.
    func isNeeded(at upstream: UpstreamDescription?) -> Bool {
        ticket == nil && queue != nil && upstream?.slots != nil
    }

    /// The queue and the ticket with which the reply waits there; `nil` if the server has no slots.
    mutating func makeTicket(for reply: Reply, at upstream: UpstreamDescription?) -> (SlotQueue, SlotTicket)? {
        guard let queue, let upstream, let slots = upstream.slots else { return nil }
        let ticket = SlotTicket(
            upstream: upstream.name, slots: slots, reply: reply.id, owner: reply.turn.conversation.owner.keyPrefix)
        self.ticket = ticket
        return (queue, ticket)
    }

    /// Forgets a ticket that the queue has refused.
    mutating func forget() { ticket = nil }

    /// Releases the slot, or leaves the queue.
    mutating func release() {
        if let ticket = ticket.take() {
            queue?.release(ticket)
        }
    }

    /// Keeps the ticket in the queue for the next owner of the reply.
    mutating func keep() {
        if let ticket = ticket.take() {
            queue?.keep(ticket)
        }
    }

    /// Whether the reply has a slot and other replies wait for one; `false` if the store does not answer.
    func isWanted() async -> Bool {
        guard let ticket, let queue else { return false }
        return (try? await queue.isAnyoneWaiting(at: ticket.upstream)) ?? false
    }
}
