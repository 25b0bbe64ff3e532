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

    /// The appID of tickets for requests outside of conversations; no real appID is empty. These requests share slots as one
    /// conversation.
    public static let noConversation = ""

    /// Makes a ticket.
    public init(upstream: String, slots: Int, reply: ReplyID, appID: String) {
        self.upstream = upstream
        self.slots = slots
        self.reply = reply
        self.appID = appID
    }

    /// What tells it from all others.
    public var key: SlotKey { SlotKey(upstream: upstream, reply: reply) }
}

/// What tells a ticket from all others: a reply has one at each model server, at most.
public struct SlotKey: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// The reply.
    public var reply: ReplyID

    /// Makes a key.
    public init(upstream: String, reply: ReplyID) {
        self.upstream = upstream
        self.reply = reply
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
