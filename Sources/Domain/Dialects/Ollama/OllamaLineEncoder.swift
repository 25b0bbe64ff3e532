import ChatterdBasics
import ChatterdRelay

/// Writes an answer of `/api/chat`: its lines as they are.
struct OllamaLineEncoder: AnswerEncoder {
    static let contentType = StreamType.lines

    mutating func begin(to buffer: inout ByteBuffer) {}

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        for index in 0..<lines.count {
            buffer.append(lines.line(at: index))
            buffer.append("\n")
        }
    }

    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        buffer.append(ending.lastEvent.span)
        buffer.append("\n")
    }

    mutating func fail(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        OllamaDoor().append(DoorFault(error), to: &buffer)
        buffer.append("\n")
    }

    /// White space before the next line has no meaning, and only a write shows that a client has left.
    func keepAlive(to buffer: inout ByteBuffer) {
        buffer.append(" ")
    }
}
