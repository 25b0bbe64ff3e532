import Bytes
import LanguageModels

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

/// What a turn has to go on.
public struct TurnHistory: Sendable {
    /// All complete turns before this one and all seeded messages, then the prompts of this turn.
    public var messages: EncodedMessages
    /// Earlier turns that no reply has closed yet, oldest first.
    public var unfinished: [Int64]
    /// Whether the messages are over the limit; they are cut short then, and must not be sent.
    public var isTooLarge: Bool

    /// Makes a history.
    public init(messages: EncodedMessages, unfinished: [Int64], isTooLarge: Bool = false) {
        self.messages = messages
        self.unfinished = unfinished
        self.isTooLarge = isTooLarge
    }
}

/// How a reply ended, as the store remembers it. Only the turns of complete replies are replayed to the model.
public enum ReplyState: String, Sendable, CaseIterable {
    /// The model came to its end, and the text is whole.
    case complete
    /// The model server or the store failed; the text is what came before.
    case failed
    /// The client left; the text is what came before.
    case cancelled
    /// The server was stopped or died; the text is what came before.
    case interrupted
}

/// A reply as it is stored.
public struct StoredReply: Sendable {
    /// Its name: by it the store knows the same reply again.
    public var id: ReplyID
    /// The model that was asked for.
    public var model: String
    /// The text, byte for byte as it was streamed.
    public var text: [UInt8]
    /// What the model thought aloud, if it did.
    public var thinking: [UInt8]
    /// Further members of the message as JSON text without its braces, such as `"tool_calls":[...]`; empty for none.
    public var extras: [UInt8]
    /// How it ended.
    public var state: ReplyState

    /// Makes a reply.
    public init(
        id: ReplyID, model: String, text: [UInt8], thinking: [UInt8], extras: [UInt8], state: ReplyState
    ) {
        self.id = id
        self.model = model
        self.text = text
        self.thinking = thinking
        self.extras = extras
        self.state = state
    }
}
