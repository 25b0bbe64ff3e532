/// An answer so far. A later snapshot has the same text and more at its end, unless `attempt` has grown: then it began again.
///
/// An app may store it (`Codable`), and continue it later, after a suspension or on another device, with `snapshots(continuing:)`.
public struct Answer: Sendable, Hashable, Codable {
    /// The id of the reply; `nil` before the server has stored the prompt.
    public internal(set) var reply: ReplyID?
    /// The text so far.
    public internal(set) var text = ""
    /// The model's thinking so far.
    public internal(set) var thinking = ""
    public internal(set) var toolCalls: [ToolCall] = []
    /// The place in the queue of a model server, before the first text.
    public internal(set) var queue: QueuePosition?
    /// From 1; one more for each time that the server has begun again.
    public internal(set) var attempt = 1
    /// The reason why the connection is lost at the moment; `nil` if it is not.
    public internal(set) var interruption: ChatterError?
    /// The end; `nil` while the answer grows.
    public internal(set) var end: ReplyStatistics?
    /// The id of the last event.
    var position: String?

    enum CodingKeys: String, CodingKey {
        case reply, text, thinking, toolCalls, queue, attempt, end, position
    }

    /// An answer without text, of a reply that exists.
    public init(to reply: ReplyID? = nil) {
        self.reply = reply
    }

    /// Whether the answer is complete, or was stopped.
    public var isFinished: Bool { end != nil }

    mutating func apply(_ event: ReplyEvent) {
        switch event {
        case .started(let id): reply = id
        case .text(let piece):
            text += piece
            queue = nil
        case .thinking(let piece):
            thinking += piece
            queue = nil
        case .toolCalls(let calls): toolCalls += calls
        case .step: break
        case .queued(let place): queue = place
        case .reset:
            (text, thinking, toolCalls, queue) = ("", "", [], nil)
            attempt += 1
        case .connectionLost(let error, _): interruption = error
        case .resumed: interruption = nil
        case .finished(let statistics):
            end = statistics
            queue = nil
        }
    }
}
