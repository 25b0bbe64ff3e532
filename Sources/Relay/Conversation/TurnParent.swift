import ChatterdLanguageModels

/// The parent of a prompt that does not follow the last turn of its conversation.
public enum TurnParent: Sendable, Hashable {
    /// The messages that `/llmprep` seeded, without any turn.
    case start
    /// The turn of a reply.
    case reply(ReplyID)
}
