import ChatterdLanguageModels

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
