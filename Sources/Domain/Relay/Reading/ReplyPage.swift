/// The content of a reply between two positions.
public struct ReplyPage: Sendable {
    /// The start: the requested position, or the start of the reply if it does not have that position, because it has restarted or is
    /// shorter.
    public var start: ReplyPosition
    /// The text; whole characters.
    public var text: [UInt8]
    /// The thoughts of the model; whole characters.
    public var thinking: [UInt8]
    /// The tool calls: JSON objects separated by commas. A page that starts after a call begins with a comma.
    public var toolCalls: [UInt8]
    /// The ending of the reply; `nil` if the page does not reach it.
    public var ending: ReplyEnding?
    /// The position of the reply in the queue of a model server; `nil` if it does not wait or the position is unknown.
    public var queuePosition: QueuePosition?
    /// The steps of the reply; `nil` if it has none, or the page was read without them.
    public var steps: ReplySteps?
    /// The reason why the end of the reply is unknown for now; `nil` unless its owner has timed out waiting for the store.
    var interimError: RelayError?

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

    /// Whether the page has no content, with or without an ending.
    public var isEmpty: Bool { text.isEmpty && thinking.isEmpty && toolCalls.isEmpty }

    /// The size of the content, in bytes.
    public var size: Int { text.count + thinking.count + toolCalls.count }

    /// The end of the page.
    public var end: ReplyPosition {
        ReplyPosition(
            attempt: start.attempt, text: start.text + text.count, thinking: start.thinking + thinking.count,
            toolCalls: start.toolCalls + toolCalls.count, isEnd: ending != nil)
    }
}
