import ChatterdLanguageModels

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
