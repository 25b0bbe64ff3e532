import ChatterdBasics

/// How far a reply was made, stored or read: the bytes of each of its parts so far, all of them UTF-8.
///
/// It is the `id` of the events: whoever reads on from a position gets exactly what comes after it.
public struct ReplyPosition: Sendable, Hashable {
    /// How often the reply was begun; 1 unless a process died and the reply was asked for anew.
    public var attempt: Int
    /// Bytes of the text.
    public var text: Int
    /// Bytes of what the model thought aloud.
    public var thinking: Int
    /// Bytes of the tool calls: JSON objects with commas between them.
    public var toolCalls: Int
    /// Whether the last event, which says how the reply ended, is included.
    public var isEnd: Bool

    /// Makes a position.
    public init(attempt: Int = 1, text: Int = 0, thinking: Int = 0, toolCalls: Int = 0, isEnd: Bool = false) {
        self.attempt = attempt
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.isEnd = isEnd
    }

    /// The bytes of all parts together.
    public var total: Int { text + thinking + toolCalls }

    /// Whether nothing of the other position, of the same attempt, is beyond this one.
    public func covers(_ other: ReplyPosition) -> Bool {
        attempt == other.attempt && text >= other.text && thinking >= other.thinking && toolCalls >= other.toolCalls
    }
}
