import ChatterdBasics
import ChatterdLanguageModels

/// How a reply ended, as the store remembers it. Only the turns of complete replies are replayed to the model.
public enum ReplyState: String, Sendable, CaseIterable {
    /// The model came to its end, and the text is whole.
    case complete
    /// The model server or the store failed; the text is what came before.
    case failed
    /// The client stopped it, or left; the text is what came before.
    case cancelled
    /// The server was stopped or died; the text is what came before.
    case interrupted
}
