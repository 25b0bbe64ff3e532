import ChatterdIdentity
import ChatterdLanguageModels

/// The result of opening a turn.
public enum TurnOpened: Sendable {
    /// The prompts are committed. The quota is that of a principal with limits.
    case opened(Turn, TurnHistory, Quota?)
    /// The same request was accepted before. The store is unchanged.
    case known(ReplyID)
}
