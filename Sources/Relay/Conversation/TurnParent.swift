import ChatterdLanguageModels

/// What a prompt follows that does not follow the last message of its conversation.
public enum TurnParent: Sendable, Hashable {
    /// What `/llmprep` seeded, and nothing else.
    case start
    /// The turn of a reply.
    case reply(ReplyID)
}
