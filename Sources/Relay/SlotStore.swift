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

/// What came of a ticket.
public struct SlotEntry: Sendable {
    /// Where it waits; nothing when it has a slot.
    public var place: QueuePlace?
    /// The tickets of this process that were given a slot in the same step.
    public var granted: [SlotKey]

    /// Makes an entry.
    public init(place: QueuePlace?, granted: [SlotKey]) {
        self.place = place
        self.granted = granted
    }
}

/// The tickets of a process at a moment.
public struct SlotSurvey: Sendable {
    /// The tickets that wait, at their places.
    public var places: [SlotKey: QueuePlace] = [:]
    /// The tickets that have a slot.
    public var granted: [SlotKey] = []
    /// The slots that are taken by processes that live, for each model server that was asked for.
    public var running: [String: Int] = [:]

    /// Makes a survey that found nothing.
    public init() {}
}

/// How busy a model server is.
public struct SlotLoad: Sendable, Equatable {
    /// The slots that are taken.
    public var running: Int
    /// The replies that wait.
    public var waiting: Int
    /// How long a slot has been held of late; nothing if none was given back yet.
    public var hold: Duration?

    /// Makes a load.
    public init(running: Int, waiting: Int, hold: Duration?) {
        self.running = running
        self.waiting = waiting
        self.hold = hold
    }
}
