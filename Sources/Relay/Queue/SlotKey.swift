import ChatterdLanguageModels

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
