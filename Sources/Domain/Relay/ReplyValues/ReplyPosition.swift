import ChatterdBasics

/// A position in a reply: an attempt, and the number of bytes of UTF-8 of each part.
///
/// Positions are the `id`s of events. A reader that resumes at a position gets exactly the content after it.
public struct ReplyPosition: Sendable, Hashable {
    /// The number of the attempt; greater than 1 after a restart or an adoption of the reply.
    public var attempt: Int
    /// Bytes of the text.
    public var text: Int
    /// Bytes of the thoughts.
    public var thinking: Int
    /// Bytes of the tool calls: JSON objects separated by commas.
    public var toolCalls: Int
    /// Whether the position is after the last event, which gives the ending.
    public var isEnd: Bool

    public init(attempt: Int = 1, text: Int = 0, thinking: Int = 0, toolCalls: Int = 0, isEnd: Bool = false) {
        self.attempt = attempt
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.isEnd = isEnd
    }

    /// The bytes of all parts together.
    public var total: Int { text + thinking + toolCalls }

    /// Whether both positions have the same attempt, and no part of the other one is beyond this one.
    public func covers(_ other: ReplyPosition) -> Bool {
        attempt == other.attempt && text >= other.text && thinking >= other.thinking && toolCalls >= other.toolCalls
    }
}
