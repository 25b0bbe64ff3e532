import LanguageModels

/// A reply that wants a slot of a model server.
public struct SlotTicket: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// The answers that it makes at once.
    public var slots: Int
    /// The reply.
    public var reply: ReplyID
    /// Its conversation: slots are shared out fairly between conversations.
    public var appID: String

    /// Makes a ticket.
    public init(upstream: String, slots: Int, reply: ReplyID, appID: String) {
        self.upstream = upstream
        self.slots = slots
        self.reply = reply
        self.appID = appID
    }
}

/// Where a reply stands in the queue of a model server.
public struct QueuePlace: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// Its place: 1 is the next one.
    public var position: Int
    /// The replies that wait.
    public var length: Int

    /// Makes a place.
    public init(upstream: String, position: Int, length: Int) {
        self.upstream = upstream
        self.position = position
        self.length = length
    }
}

/// The queues of model servers with slots, shared by all processes; one for the process, on one shard.
public final class SlotQueue: @unchecked Sendable {
    /// Makes the queues.
    public init() {}

    /// Refuses a prompt for which there is no room in the queue.
    ///
    /// - Throws: `overloaded`, with the time after which there may be room; `storeUnavailable`.
    public func requireRoom(at upstream: UpstreamDescription) async throws(RelayError) {}

    /// Waits for a slot; from any shard.
    ///
    /// - Parameters:
    ///   - home: the shard of the reply; `onMove` is called there, at first and whenever the place has changed.
    /// - Throws: `cancelled` after `withdraw`; `storeUnavailable` when the store is away for longer than its patience.
    public func take(
        _ ticket: SlotTicket, on home: Scheduler, onMove: @escaping @Sendable (QueuePlace) -> Void
    ) async throws(RelayError) {}

    /// Gives a slot back, or the place in the queue up: `take` throws then. From any shard.
    public func giveBack(_ ticket: SlotTicket) {}
}
