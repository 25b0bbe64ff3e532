import ChatterdChat

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

/// The key of a ticket. A reply has at most one ticket at each model server.
public struct SlotKey: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    public var reply: ReplyID

    public init(upstream: String, reply: ReplyID) {
        self.upstream = upstream
        self.reply = reply
    }
}

/// The tickets of a process at one time.
public struct SlotSnapshot: Sendable {
    /// The positions of the waiting tickets.
    public var positions: [SlotKey: QueuePosition] = [:]
    /// The tickets with a slot.
    public var granted: [SlotKey] = []
    /// The slots that living processes use, for each requested model server.
    public var running: [String: Int] = [:]

    /// Creates an empty snapshot.
    public init() {}
}

/// The result of entering a ticket.
public struct SlotEntry: Sendable {
    /// The ticket's position in the queue; `nil` if it has a slot.
    public var position: QueuePosition?
    /// The tickets of this process that got slots in the same statement.
    public var granted: [SlotKey]

    public init(position: QueuePosition?, granted: [SlotKey]) {
        self.position = position
        self.granted = granted
    }
}

/// The load of a model server.
public struct SlotLoad: Sendable, Equatable {
    /// The number of used slots.
    public var running: Int
    /// The number of waiting replies.
    public var waiting: Int
    /// The recent average time for which a slot was held; `nil` before any was released.
    public var hold: Duration?

    public init(running: Int, waiting: Int, hold: Duration?) {
        self.running = running
        self.waiting = waiting
        self.hold = hold
    }
}
