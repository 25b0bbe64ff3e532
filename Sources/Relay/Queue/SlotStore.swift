/// Where the queues of all processes are kept.
///
/// Every method throws `storeUnavailable` when the store is away or too slow; then nothing, or all, was done. Whoever puts a
/// ticket in or takes one out gives the slots that are free to those that are next, in the same step.
public protocol SlotStore: AnyObject, Sendable {
    /// Puts a ticket at its place in the queue; one that is there already becomes this process's, and keeps its place.
    ///
    /// One that another process left with a slot waits again, in front of those that came later.
    /// - Throws: `conversationReplaced` when the reply is gone, `interrupted` when somebody else has closed it.
    func enter(_ ticket: SlotTicket) async throws(RelayError) -> SlotEntry

    /// Takes a ticket of this process out, with a slot or without; one that is not there is fine.
    ///
    /// - Returns: the tickets of this process that were given a slot in this step.
    func leave(_ ticket: SlotTicket) async throws(RelayError) -> [SlotKey]

    /// Gives the slots that are free to those that are next: a process that held some is dead, or there are more than before.
    ///
    /// - Returns: the tickets of this process that were given one.
    func grant(at upstream: String, slots: Int) async throws(RelayError) -> [SlotKey]

    /// The tickets of this process that have a slot.
    func granted() async throws(RelayError) -> [SlotKey]

    /// All tickets of this process, with the places of those that wait, and how busy some model servers are.
    func survey(_ upstreams: [String]) async throws(RelayError) -> SlotSurvey

    /// How busy a model server is; from any shard.
    func load(of upstream: String) async throws(RelayError) -> SlotLoad
}
