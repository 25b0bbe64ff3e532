import ChatterdIdentity

/// One exchange of a conversation: prompts, and the reply that closes the turn.
public struct Turn: Sendable, Hashable {
    /// The conversation.
    public let conversation: ConversationKey
    /// The `seq` that is reserved for the reply. Its prompts have smaller numbers, later turns have greater ones.
    public let number: Int64

    public init(conversation: ConversationKey, number: Int64) {
        self.conversation = conversation
        self.number = number
    }
}
