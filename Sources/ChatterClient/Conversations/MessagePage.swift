/// A page of the messages of a conversation, in their order.
public struct MessagePage: Sendable, Hashable, Decodable {
    /// The name of the conversation.
    public let conversation: String
    public let title: String?
    public let messages: [Message]
    /// The numbers of the first and the last message; `nil` in an empty page.
    public let first: Int?
    public let last: Int?
    public let moreBefore: Bool
    public let moreAfter: Bool
}
