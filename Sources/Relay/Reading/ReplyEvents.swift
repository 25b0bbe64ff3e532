import ChatterdBasics
import ChatterdLanguageModels

/// Writes the events of a reply that are chatterd's own, not lines of a model server: `error`, `reset`, `queue` and a stop.
///
/// The data of each event has the members of an answer line as well, so that clients of Ollama can read it. No line end is
/// written. Times are in nanoseconds since 1970.
public struct ReplyEvents: Sendable {
    /// `"model":"…","created_at":"`, the same in all events.
    private let model: [UInt8]

    /// Creates a writer of events for a reply of `model`.
    public init(model: String) {
        var buffer = ByteBuffer()
        buffer.append("\"model\":")
        buffer.append(jsonString: model)
        buffer.append(",\"created_at\":\"")
        self.model = buffer.array
    }

    /// Appends the data of an `error` event. The message is the text of the answer line too.
    public func appendError(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append("{\"error\":")
        buffer.append(jsonString: error.message)
        buffer.append(",\"code\":")
        buffer.append(jsonString: error.code.rawValue)
        buffer.append(error.code.isRetryable ? ",\"retryable\":true," : ",\"retryable\":false,")
        appendMessage(at: nanoseconds, to: &buffer)
        buffer.append(jsonString: error.message)
        buffer.append("},\"done\":true}")
    }

    /// Appends the data of a `reset` event: the client discards the text that it has of the reply.
    ///
    /// Clients that do not know the event show its text as a piece of the answer.
    public func appendReset(attempt: Int, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append("{\"reset\":true,\"attempt\":")
        buffer.append(decimal: attempt)
        buffer.append(",")
        appendMessage(at: nanoseconds, to: &buffer)
        buffer.append("\"\\n\\n[The answer was interrupted, and begins anew.]\\n\\n\"},\"done\":false}")
    }

    /// Appends the data of a `queue` event: the position of the reply's ticket in the queue of a model server.
    ///
    /// Clients that do not know the event read an empty piece of the answer.
    public func appendQueuePosition(
        _ position: Int, of length: Int, at nanoseconds: Int64, upstream: String, to buffer: inout ByteBuffer
    ) {
        buffer.append("{")
        appendMessage(at: nanoseconds, to: &buffer)
        buffer.append("\"\"},\"done\":false,\"queue\":{\"upstream\":")
        buffer.append(jsonString: upstream)
        buffer.append(",\"position\":")
        buffer.append(decimal: position)
        buffer.append(",\"length\":")
        buffer.append(decimal: length)
        buffer.append("}}")
    }

    /// Appends the last line of a reply that was stopped on purpose.
    public func appendStop(at nanoseconds: Int64, state: ReplyState, to buffer: inout ByteBuffer) {
        buffer.append("{")
        appendMessage(at: nanoseconds, to: &buffer)
        buffer.append("\"\"},\"done\":true,\"done_reason\":\"stop\",\"state\":")
        buffer.append(jsonString: state.rawValue)
        buffer.append(UInt8(ascii: "}"))
    }

    /// Appends the members of an answer line up to the value of `content`.
    private func appendMessage(at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.append(model)
        buffer.append(rfc3339: nanoseconds)
        buffer.append("\",\"message\":{\"role\":\"assistant\",\"content\":")
    }
}
