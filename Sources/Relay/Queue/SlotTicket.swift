import ChatterdLanguageModels

/// The ticket of a reply for a slot of a model server.
public struct SlotTicket: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// The number of answers that the server generates at once.
    public var slots: Int
    public var reply: ReplyID
    /// The conversation of the reply. Conversations share the slots fairly.
    public var appID: String

    /// The appID of tickets for requests outside of conversations; no real appID is empty. These requests share slots as one
    /// conversation.
    public static let noConversation = ""

    public init(upstream: String, slots: Int, reply: ReplyID, appID: String) {
        self.upstream = upstream
        self.slots = slots
        self.reply = reply
        self.appID = appID
    }

    /// The key of the ticket.
    public var key: SlotKey { SlotKey(upstream: upstream, reply: reply) }
}
