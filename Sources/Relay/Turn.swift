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
    /// Which earlier messages are not among these, in order, and why.
    public var omitted: [ReplyReceipt.Omitted]
    /// Whether the messages are unread: the budget had no memory for them, or earlier turns are still open. The store reads them in
    /// `history(of:for:)`.
    public private(set) var isUnread = false
    /// The reservation for the messages; `nil` for a store that keeps everything in memory.
    public var memory: MemoryReservation?

    /// Makes a history.
    public init(
        messages: EncodedMessages, unfinished: [Int64], isTooLarge: Bool = false, omitted: [ReplyReceipt.Omitted] = []
    ) {
        self.messages = messages
        self.unfinished = unfinished
        self.isTooLarge = isTooLarge
        self.omitted = omitted
    }

    /// Creates an unread history.
    public init(unreadBehind unfinished: [Int64]) {
        self.init(messages: EncodedMessages(), unfinished: unfinished)
        isUnread = true
    }

    /// The number of copies of a history until it is sent: here, in the request, and in the connection's output.
    public static let copiesOnTheWay = 3

    /// Reserves memory for the request, which the caller is about to create.
    func willBeSent() {
        memory?.charge(to: Self.copiesOnTheWay * messages.size)
    }

    /// Releases the memory of the sent request. The messages stay in case another server must be asked.
    func wasSent() {
        memory?.shrink(to: messages.size)
    }
}

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

/// The end of a reply as it is stored, behind what is in its journal.
public struct ClosingReply: Sendable {
    /// Its name: by it the store knows the same reply again.
    public var id: ReplyID
    /// Where the rest begins; everything before is in the journal.
    public var journalled: ReplyPosition
    /// The rest of the text, byte for byte as it was streamed.
    public var text: [UInt8]
    /// The rest of what the model thought aloud.
    public var thinking: [UInt8]
    /// The rest of the tool calls: JSON objects with commas between them.
    public var toolCalls: [UInt8]
    /// How it ended.
    public var ending: ReplyEnding
    /// How it came about.
    public var account: ReplyAccount

    /// Makes a reply.
    public init(
        id: ReplyID, journalled: ReplyPosition, text: [UInt8], thinking: [UInt8], toolCalls: [UInt8],
        ending: ReplyEnding, account: ReplyAccount = ReplyAccount()
    ) {
        self.id = id
        self.journalled = journalled
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.ending = ending
        self.account = account
    }
}
