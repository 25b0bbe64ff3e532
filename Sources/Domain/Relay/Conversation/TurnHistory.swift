import ChatterdBasics
import ChatterdChat

/// The messages that a model gets for a turn.
public struct TurnHistory: Sendable {
    /// The turns before this one with an answer and seeded messages, then the prompts of this turn.
    public var messages: EncodedConversation
    /// The earlier turns that are still open, oldest first.
    public var unfinished: [Int64]
    /// Whether the history exceeds the limit. The messages are then incomplete and must not be sent.
    public var isTooLarge: Bool
    /// The earlier messages that the history omits, in order, with the reasons.
    public var omitted: [PromptReport.Omitted]
    /// The numbers that the store has not read, because no model server gets their messages: those between the first system messages and
    /// a turn. `nil` if it has read all.
    public var skipped: ClosedRange<Int64>?
    /// Whether the messages are unread: the budget had no memory for them, or earlier turns are still open. The store reads them in
    /// `history(of:for:reach:)`.
    public private(set) var isUnread = false
    /// The reservation for the messages; `nil` for a store that keeps everything in memory.
    public var memory: MemoryReservation?

    public init(
        messages: EncodedConversation, unfinished: [Int64], isTooLarge: Bool = false,
        omitted: [PromptReport.Omitted] = []
    ) {
        self.messages = messages
        self.unfinished = unfinished
        self.isTooLarge = isTooLarge
        self.omitted = omitted
    }

    public init(unreadBehind unfinished: [Int64]) {
        self.init(messages: EncodedConversation(), unfinished: unfinished)
        isUnread = true
    }

    /// The number of copies of a history until it is sent: here, and in the request of a dialect that translates it.
    public static let copiesOnTheWay = 2

    /// Reserves memory for the request, which the caller is about to create.
    func reserveForRequest() {
        memory?.charge(to: Self.copiesOnTheWay * messages.byteCount)
    }

    /// Releases the memory of the sent request. The messages stay in case another server must be asked.
    func releaseRequest() {
        memory?.shrink(to: messages.byteCount)
    }

    /// The messages of the system at its beginning, unless there are no others.
    var leadingSystem: EncodedConversation {
        messages.messages(0..<((0..<messages.count).first { messages[$0].role != .system } ?? 0))
    }

    /// The history without the messages of the system at its beginning.
    func withoutLeadingSystem() -> TurnHistory {
        var rest = self
        rest.messages = messages.removing(0..<leadingSystem.count)
        return rest
    }

    /// Throws `historyTooLarge` if the history exceeds the limit.
    func requireSize() throws(RelayError) {
        guard isTooLarge else { return }
        throw RelayError(
            .historyTooLarge,
            "The conversation has grown too long to be sent to a model. Start it again with /llmprep.")
    }
}
