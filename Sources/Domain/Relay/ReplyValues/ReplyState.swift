import ChatterdBasics
import ChatterdChat

/// The stored state of a reply that has ended. Only the turns of complete replies are sent to the model again.
public enum ReplyState: String, Sendable, CaseIterable {
    /// The model has ended the answer, and the text is complete.
    case complete
    /// The model server or the store failed. The text before the failure is stored.
    case failed
    /// The client stopped the reply or left. The text before is stored.
    case cancelled
    /// The server was stopped or died. The text before is stored.
    case interrupted
}
