import ChatterdBasics

/// Writes the lines of an answer in the shape of Ollama's `/api/chat`, for models that answer in another shape.
///
/// No line end is written. Times are in nanoseconds since 1970.
public struct AnswerLineWriter: Sendable {
    /// `{"model":"…","created_at":"`, the same in all lines.
    private let opening: [UInt8]

    /// Creates a writer of the lines of an answer of `model`.
    public init(model: String) {
        var buffer = ByteBuffer()
        buffer.append("{\"model\":")
        buffer.append(jsonString: model)
        buffer.append(",\"created_at\":\"")
        opening = buffer.array
    }

    /// Appends a line with a piece of the answer, which is UTF-8.
    public func append(content: Span<UInt8>, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"")
        buffer.append(jsonEscaping: content)
        buffer.append("\"},\"done\":false}")
    }

    /// Appends a line with a piece of the model's reasoning, which is UTF-8.
    public func append(thinking: Span<UInt8>, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\",\"thinking\":\"")
        buffer.append(jsonEscaping: thinking)
        buffer.append("\"},\"done\":false}")
    }

    /// Appends a line with tool calls, which are a JSON array.
    public func append(toolCalls: Span<UInt8>, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\",\"tool_calls\":")
        buffer.append(toolCalls)
        buffer.append("},\"done\":false}")
    }

    /// Appends the last line. Counts that are `nil` are left out.
    public func appendEnd(
        at nanoseconds: Int64, doneReason: String, promptTokens: Int?, answerTokens: Int?, to buffer: inout ByteBuffer
    ) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\"},\"done\":true,\"done_reason\":")
        buffer.append(jsonString: doneReason)
        if let promptTokens {
            buffer.append(",\"prompt_eval_count\":")
            buffer.append(decimal: promptTokens)
        }
        if let answerTokens {
            buffer.append(",\"eval_count\":")
            buffer.append(decimal: answerTokens)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    /// Appends the members of a line up to the name of the first member of `message`.
    public func appendOpening(at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append(opening)
        buffer.append(rfc3339: nanoseconds)
        buffer.append("\",\"message\":{\"role\":\"assistant\",")
    }
}
