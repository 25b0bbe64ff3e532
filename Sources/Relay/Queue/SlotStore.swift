/// The storage of the queues of all processes.
///
/// Every method throws `storeUnavailable` if the store is unavailable or too slow. The change is then done completely or not at all.
/// Entering or removing a ticket also grants the free slots to the next tickets, in the same statement.
public protocol SlotStore: AnyObject, Sendable {
    /// Enters a ticket into the queue. If the queue has the ticket already, this process becomes its owner, and the ticket keeps its
    /// position.
    ///
    /// A ticket of another process that had a slot waits again, before later tickets.
    /// - Throws: `conversationReplaced` if the reply is gone, `interrupted` if another process has closed it.
    func enter(_ ticket: SlotTicket) async throws(RelayError) -> SlotEntry

    /// Removes a ticket of this process, with or without a slot. No effect if the queue does not have it.
    ///
    /// - Returns: the tickets of this process that got slots in the same statement.
    func leave(_ ticket: SlotTicket) async throws(RelayError) -> [SlotKey]

    /// Grants the free slots to the next tickets, after the death of a process or an increase of the number of slots.
    ///
    /// - Returns: the tickets of this process that got slots.
    func grant(at upstream: String, slots: Int) async throws(RelayError) -> [SlotKey]

    /// The tickets of this process that have a slot.
    func granted() async throws(RelayError) -> [SlotKey]

    /// All tickets of this process, with the positions of waiting ones, and the used slots of some model servers.
    func survey(_ upstreams: [String]) async throws(RelayError) -> SlotSnapshot

    /// The load of a model server. From any shard.
    func load(of upstream: String) async throws(RelayError) -> SlotLoad
}
