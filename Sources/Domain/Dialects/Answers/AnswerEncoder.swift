import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdRelay

/// Writes the stream of one answer in one form. `begin` comes first; `end` or `fail` is the last call. Times are in nanoseconds since 1970.
public protocol AnswerEncoder {
    /// The type of the stream.
    static var contentType: StreamType { get }

    /// The size of what the encoder holds until the end, in bytes.
    var heldSize: Int { get }

    /// Appends what precedes the answer.
    mutating func begin(to buffer: inout ByteBuffer)

    /// Appends lines of the answer. No allocation for each token, except for growing the buffer.
    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer)

    /// Appends the position of the answer in the queue of a model server, if the form has one for it.
    mutating func append(_ queue: QueuePosition, at nanoseconds: Int64, to buffer: inout ByteBuffer)

    /// Appends a call of a tool of the server that is new or has another state, if the form has an event for it.
    mutating func append(_ change: StepChange, to buffer: inout ByteBuffer)

    /// Takes the answer so far back; it starts over at `position`.
    ///
    /// - Returns: `false` if the form cannot take text back.
    mutating func reset(to position: ReplyPosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) -> Bool

    /// Appends the last event of an ending that the form presents (`AnswerTranslator.presentsAnyEnding`), which may have text, and what
    /// follows it.
    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer)

    /// Appends an error in the stream, as its end.
    mutating func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer)

    /// Appends bytes without meaning, after a silence.
    func keepAlive(to buffer: inout ByteBuffer)
}

extension AnswerEncoder {
    var heldSize: Int { 0 }
    func append(_ queue: QueuePosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) {}
    func append(_ change: StepChange, to buffer: inout ByteBuffer) {}
    func reset(to position: ReplyPosition, at nanoseconds: Int64, to buffer: inout ByteBuffer) -> Bool { false }
}

/// The types of streams.
public enum StreamType: Sendable {
    /// Server-sent events.
    case events
    /// JSON objects, one a line.
    case lines

    /// The type as a value of `Content-Type`.
    public var fieldValue: FieldValue {
        switch self {
        case .events: "text/event-stream"
        case .lines: "application/x-ndjson"
        }
    }
}
