import ChatterdBasics
import ChatterdIdentity
import ChatterdLanguageModels

/// One exchange of a conversation: prompts, and the reply that closes the turn.
public struct Turn: Sendable, Hashable {
    /// The text of the conversation's key.
    public let appID: String
    /// The `seq` that is reserved for the reply. Its prompts have smaller numbers, later turns have greater ones.
    public let number: Int64

    public init(appID: String, number: Int64) {
        self.appID = appID
        self.number = number
    }

    /// The key of the conversation.
    public var conversation: ConversationKey { ConversationKey(parsing: appID) }
}
