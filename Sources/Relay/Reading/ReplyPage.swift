/// A stretch of a reply, from one position to another.
public struct ReplyPage: Sendable {
    /// Where it begins: where it was asked for, or the start of the reply when there is no such place in it (it was begun
    /// anew, or is shorter than the reader thinks).
    public var start: ReplyPosition
    /// The text from there on; whole characters.
    public var text: [UInt8]
    /// What the model thought aloud from there on; whole characters.
    public var thinking: [UInt8]
    /// The tool calls from there on: JSON objects with commas between them; a comma at the start belongs to it.
    public var toolCalls: [UInt8]
    /// How the reply ended, when this page reaches its end.
    public var ending: ReplyEnding?
    /// Where the reply waits for a slot of a model server, if it does and that is known.
    public var queuePlace: QueuePlace?
    /// The reason why the end of the reply is unknown for now; `nil` unless its owner has timed out waiting for the store.
    var trouble: RelayError?

    /// Makes a page.
    public init(
        start: ReplyPosition, text: [UInt8] = [], thinking: [UInt8] = [], toolCalls: [UInt8] = [],
        ending: ReplyEnding? = nil
    ) {
        self.start = start
        self.text = text
        self.thinking = thinking
        self.toolCalls = toolCalls
        self.ending = ending
    }

    /// Whether it holds nothing but perhaps the ending.
    public var isEmpty: Bool { text.isEmpty && thinking.isEmpty && toolCalls.isEmpty }

    /// Where it ends.
    public var end: ReplyPosition {
        ReplyPosition(
            attempt: start.attempt, text: start.text + text.count, thinking: start.thinking + thinking.count,
            toolCalls: start.toolCalls + toolCalls.count, isEnd: ending != nil)
    }
}
