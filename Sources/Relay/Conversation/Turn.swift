import ChatterdBasics
import ChatterdLanguageModels

/// One exchange of a conversation: prompts, and the reply that closes it.
public struct Turn: Sendable, Hashable {
    /// The conversation.
    public let appID: String
    /// The place that is kept for the reply in the conversation; prompts stand before it, later turns after it.
    public let number: Int64

    /// Names a turn.
    public init(appID: String, number: Int64) {
        self.appID = appID
        self.number = number
    }
}
