/// A page of the list of conversations, those with the newest change first.
public struct ConversationList: Sendable, Hashable, Decodable {
    public let conversations: [Conversation]
    /// The cursor of the next page; `nil` on the last one.
    public let next: String?
}
