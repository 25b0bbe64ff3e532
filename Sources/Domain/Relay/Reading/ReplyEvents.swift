import ChatterdBasics
import ChatterdChat

/// Writes the events of a reply that are chatterd's own, not lines of a model server: `error`, `reset`, `queue` and a stop.
///
/// The data of each event has the members of an answer line as well, so that clients of Ollama can read it. No line end is
/// written. Times are in nanoseconds since 1970.
public struct ReplyEvents: Sendable {
    private let model: String

    /// Creates a writer of events for a reply of `model`.
    public init(model: String) {
        self.model = model
    }

    /// Appends the data of an `error` event. The message is the text of the answer line too.
    public func appendError(_ error: RelayError, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.appendJSON { writer in
            writer.object { event in
                event.member("error", error.message)
                event.member("code", error.code.rawValue)
                event.member("retryable", error.code.isRetryable)
                write(error.message, at: nanoseconds, to: &event)
                event.member("done", true)
            }
        }
    }

    /// Appends the data of a `reset` event: the client discards the text that it has of the reply.
    ///
    /// Clients that do not know the event show its text as a piece of the answer.
    public func appendReset(attempt: Int, at nanoseconds: Int64, to buffer: inout ByteBuffer) {
        buffer.appendJSON { writer in
            writer.object { event in
                event.member("reset", true)
                event.member("attempt", attempt)
                write(
                    "\n\n[The answer was interrupted and is starting over.]\n\n", at: nanoseconds, to: &event)
                event.member("done", false)
            }
        }
    }

    /// Appends the data of a `queue` event: the position of the reply's ticket in the queue of a model server.
    ///
    /// Clients that do not know the event read an empty piece of the answer.
    public func appendQueuePosition(
        _ position: Int, of length: Int, at nanoseconds: Int64, upstream: String, to buffer: inout ByteBuffer
    ) {
        buffer.appendJSON { writer in
            writer.object { event in
                write("", at: nanoseconds, to: &event)
                event.member("done", false)
                event.object("queue") { queue in
                    queue.member("upstream", upstream)
                    queue.member("position", position)
                    queue.member("length", length)
                }
            }
        }
    }

    /// Appends the last line of a reply that was stopped on purpose.
    public func appendStop(at nanoseconds: Int64, state: ReplyState, to buffer: inout ByteBuffer) {
        buffer.appendJSON { writer in
            writer.object { line in
                write("", at: nanoseconds, to: &line)
                line.member("done", true)
                line.member("done_reason", "stop")
                line.member("state", state.rawValue)
            }
        }
    }

    /// Writes the members of an answer line with a text.
    private func write(_ text: String, at nanoseconds: Int64, to line: inout JSONWriter) {
        line.member("model", model)
        line.name("created_at")
        line.raw { buffer in
            buffer.append("\"")
            buffer.append(rfc3339: nanoseconds)
            buffer.append("\"")
        }
        line.object("message") { message in
            message.member("role", "assistant")
            message.member("content", text)
        }
    }
}
