import ChatterdBasics
import ChatterdRelay

/// Writes an answer of `/api/generate`: lines with `response` in place of `message`.
struct OllamaResponseEncoder: AnswerEncoder {
    static let contentType = StreamType.lines

    mutating func begin(to buffer: inout ByteBuffer) {}

    mutating func append(_ lines: borrowing PositionedLines, to buffer: inout ByteBuffer) {
        for index in 0..<lines.count {
            append(lines.line(at: index), to: &buffer)
        }
    }

    mutating func end(_ ending: ReplyEnding, at position: ReplyPosition, to buffer: inout ByteBuffer) {
        append(ending.lastEvent.span, to: &buffer)
    }

    private func append(_ line: Span<UInt8>, to buffer: inout ByteBuffer) {
        guard let parts = AnswerParts(line) else { return }
        buffer.append(generated: line) { buffer in
            buffer.append(inside: parts.text)
            if !parts.thinking.isEmpty {
                buffer.append(",\"thinking\":")
                buffer.append(inside: parts.thinking)
            }
            if let calls = parts.toolCalls {
                buffer.append(",\"tool_calls\":")
                buffer.append(line.extracting(calls))
            }
        }
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

extension ByteBuffer {
    /// Appends a line of `/api/chat` as one of `/api/generate`: `response` takes the place of `message`, and `write` appends its value
    /// and the members after it.
    mutating func append(generated line: Span<UInt8>, _ write: (inout ByteBuffer) -> Void) {
        var separator: StaticString = "{"
        JSONMembers.forEach(of: line) { reader, key, value in
            append(separator)
            separator = ","
            if reader.matches(key, "message") {
                append("\"response\":")
                write(&self)
            } else {
                append(inside: line.extracting(key.range))
                append(":")
                append(line.extracting(value))
            }
        }
        append("}")
    }
}
