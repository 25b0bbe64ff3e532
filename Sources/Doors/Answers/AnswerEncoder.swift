import ChatterdBasics
import ChatterdRelay

/// Writes the stream of one answer in the form of a door. `begin` comes first; `end` or `fail` is the last call.
public protocol AnswerEncoder {
    /// The type of the stream.
    static var contentType: DoorStreamType { get }

    /// Whether `end` takes the last event of any ending: of a failed and of a stopped answer too. The head of the stream then need not wait
    /// for an answer.
    static var presentsAnyEnding: Bool { get }

    /// The size of what the encoder holds until the end, in bytes.
    var heldSize: Int { get }

    /// Appends what precedes the answer.
    mutating func begin(to buffer: inout ByteBuffer)

    /// Appends lines of the answer. No allocation for each token, except for growing the buffer.
    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer)

    /// Appends the last line of a complete answer, which may have text, and what follows it; of another ending its last event, if the encoder
    /// presents it.
    mutating func end(_ line: Span<UInt8>, to buffer: inout ByteBuffer)

    /// Appends a fault in the stream.
    mutating func fail(_ fault: DoorFault, to buffer: inout ByteBuffer)

    /// Appends bytes without meaning, after a silence.
    func keepAlive(to buffer: inout ByteBuffer)
}

extension AnswerEncoder {
    static var presentsAnyEnding: Bool { false }
    var heldSize: Int { 0 }
}

/// The types of streams.
public enum DoorStreamType: String, Sendable {
    /// Server-sent events.
    case events = "text/event-stream"
    /// JSON objects, one a line.
    case lines = "application/x-ndjson"
}
