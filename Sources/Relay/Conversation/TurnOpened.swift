import ChatterdLanguageModels

/// The result of opening a turn.
public enum TurnOpened: Sendable {
    /// The prompts are committed.
    case opened(Turn, TurnHistory)
    /// The same request was accepted before. The store is unchanged.
    case known(ReplyID)
}
