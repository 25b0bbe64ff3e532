import ChatterdBasics
import ChatterdLanguageModels

/// The messages that a model gets for a turn.
public struct TurnHistory: Sendable {
    /// All complete turns before this one and all seeded messages, then the prompts of this turn.
    public var messages: EncodedMessages
    /// The earlier turns that are still open, oldest first.
    public var unfinished: [Int64]
    /// Whether the history exceeds the limit. The messages are then incomplete and must not be sent.
    public var isTooLarge: Bool
    /// The earlier messages that the history omits, in order, with the reasons.
    public var omitted: [PromptReport.Omitted]
    /// Whether the messages are unread: the budget had no memory for them, or earlier turns are still open. The store reads them in
    /// `history(of:for:)`.
    public private(set) var isUnread = false
    /// The reservation for the messages; `nil` for a store that keeps everything in memory.
    public var memory: MemoryReservation?

    public init(
        messages: EncodedMessages, unfinished: [Int64], isTooLarge: Bool = false, omitted: [PromptReport.Omitted] = []
    ) {
        self.messages = messages
        self.unfinished = unfinished
        self.isTooLarge = isTooLarge
        self.omitted = omitted
    }

    public init(unreadBehind unfinished: [Int64]) {
        self.init(messages: EncodedMessages(), unfinished: unfinished)
        isUnread = true
    }

    /// The number of copies of a history until it is sent: here, in the request, and in the connection's output.
    public static let copiesOnTheWay = 3

    /// Reserves memory for the request, which the caller is about to create.
    func reserveForRequest() {
        memory?.charge(to: Self.copiesOnTheWay * messages.size)
    }

    /// Releases the memory of the sent request. The messages stay in case another server must be asked.
    func releaseRequest() {
        memory?.shrink(to: messages.size)
    }
}
