import ChatterdLanguageModels

/// What came of an opening.
public enum TurnOpened: Sendable {
    /// The prompts are committed.
    case opened(Turn, TurnHistory)
    /// The same request was accepted before; nothing was stored.
    case known(ReplyID)
}
