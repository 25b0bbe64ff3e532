import ChatterdBasics
import ChatterdRelay

/// Writes an answer of `/api/chat`: its lines as they are.
struct OllamaLineEncoder: AnswerEncoder {
    static let contentType = DoorStreamType.lines

    mutating func begin(to buffer: inout ByteBuffer) {}

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        for index in 0..<lines.count {
            buffer.append(lines.line(at: index))
            buffer.append("\n")
        }
    }

    mutating func end(_ line: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(line)
        buffer.append("\n")
    }

    mutating func fail(_ fault: DoorFault, to buffer: inout ByteBuffer) {
        OllamaDoor().append(fault, to: &buffer)
        buffer.append("\n")
    }

    /// White space before the next line has no meaning, and only a write shows that a client has left.
    func keepAlive(to buffer: inout ByteBuffer) {
        buffer.append(" ")
    }
}
