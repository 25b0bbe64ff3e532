import ChatterdBasics

/// Writes answers in the shape of Ollama's `/api/chat` for models that speak otherwise, and for errors.
///
/// No line end is written. Times are in nanoseconds since 1970.
public struct OllamaAnswer: Sendable {
    /// `{"model":"…","created_at":"`, the same in all lines.
    private let opening: [UInt8]

    /// Prepares the lines of an answer of `model`.
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

    /// Appends a line with tool calls, which are a JSON array already.
    public func append(toolCalls: Span<UInt8>, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\",\"tool_calls\":")
        buffer.append(toolCalls)
        buffer.append("},\"done\":false}")
    }

    /// Appends the last line.
    public func appendEnd(
        at nanoseconds: Int64, doneReason: String, promptTokens: Int?, answerTokens: Int?, to buffer: inout ByteBuffer
    ) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\"")
        appendEnding(doneReason, promptTokens, answerTokens, to: &buffer)
    }

    /// Appends the last line of an answer that was ended before its time; `state` says how.
    public func appendStop(at nanoseconds: Int64, state: String, to buffer: inout ByteBuffer) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"state\":")
        buffer.append(jsonString: state)
        buffer.append(UInt8(ascii: "}"))
    }

    /// Appends a whole answer as one object, for requests without streaming.
    ///
    /// `thinking` and `toolCalls`, a JSON array, are left out when nil or empty.
    public func append(
        whole content: Span<UInt8>, thinking: String? = nil, toolCalls: [UInt8]? = nil, doneReason: String,
        promptTokens: Int?, answerTokens: Int?, at nanoseconds: Int64, to buffer: inout ByteBuffer
    ) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":")
        buffer.append(jsonString: content)
        if let thinking, !thinking.isEmpty {
            buffer.append(",\"thinking\":")
            buffer.append(jsonString: thinking)
        }
        if let toolCalls, !toolCalls.isEmpty {
            buffer.append(",\"tool_calls\":")
            buffer.append(toolCalls)
        }
        appendEnding(doneReason, promptTokens, answerTokens, to: &buffer)
    }

    /// Appends the data of an `error` event, which clients of both generations can read.
    public func appendError(
        _ text: String, code: String, isRetryable: Bool, at nanoseconds: Int64, to buffer: inout ByteBuffer
    ) {
        buffer.append("{\"error\":")
        buffer.append(jsonString: text)
        buffer.append(",\"code\":")
        buffer.append(jsonString: code)
        buffer.append(isRetryable ? ",\"retryable\":true," : ",\"retryable\":false,")
        buffer.append(opening.span.extracting(1..<opening.count))
        buffer.append(rfc3339: nanoseconds)
        buffer.append("\",\"message\":{\"role\":\"assistant\",\"content\":")
        buffer.append(jsonString: text)
        buffer.append("},\"done\":true}")
    }

    /// Appends the data of a `reset` event: what the client has of the answer counts no more.
    ///
    /// Clients that do not know the event take it for a piece of the answer, and show its text.
    public func appendReset(attempt: Int, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append("{\"reset\":true,\"attempt\":")
        buffer.append(decimal: attempt)
        buffer.append(",")
        buffer.append(opening.span.extracting(1..<opening.count))
        buffer.append(rfc3339: nanoseconds)
        buffer.append(
            "\",\"message\":{\"role\":\"assistant\",\"content\":\"\\n\\n[The answer was interrupted, and begins anew.]\\n\\n\"},\"done\":false}"
        )
    }

    /// Appends the data of a `queue` event: where the answer stands in the queue of a model server.
    ///
    /// Clients that do not know the event take it for an empty piece of the answer.
    public func appendPlace(
        _ position: Int, of length: Int, at nanoseconds: Int64, upstream: String, to buffer: inout ByteBuffer
    ) {
        appendOpening(at: nanoseconds, to: &buffer)
        buffer.append("\"content\":\"\"},\"done\":false,\"queue\":{\"upstream\":")
        buffer.append(jsonString: upstream)
        buffer.append(",\"position\":")
        buffer.append(decimal: position)
        buffer.append(",\"length\":")
        buffer.append(decimal: length)
        buffer.append("}}")
    }

    public func appendOpening(at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append(opening)
        buffer.append(rfc3339: nanoseconds)
        buffer.append("\",\"message\":{\"role\":\"assistant\",")
    }

    private func appendEnding(
        _ reason: String, _ promptTokens: Int?, _ answerTokens: Int?, to buffer: inout ByteBuffer
    ) {
        buffer.append("},\"done\":true,\"done_reason\":")
        buffer.append(jsonString: reason)
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
}
