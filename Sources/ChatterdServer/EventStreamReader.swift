import Bytes
import HTTP
import HTTPServer
import LanguageModels
import Relay

/// Turns a reply into the events of `/llmchat`: this is where a line of the model becomes bytes for the client.
///
/// Confined to its shard.
final class EventStreamReader: ReplyReader {
    private let stream: ResponseStream
    private let responder: Responder
    private let unsentLimit: Int
    private var isHolding = false
    private var reply: Reply?

    init(_ stream: ResponseStream, responder: Responder, unsentLimit: Int) {
        self.stream = stream
        self.responder = responder
        self.unsentLimit = unsentLimit
    }

    /// Reads the reply from its start; a client that leaves is reported to it.
    func follow(_ reply: Reply, keepAlive: Duration) {
        // The stream lets go of these when it ends. No weak references: they would slow down every token.
        stream.onClientGone = { reply.readerLeft() }
        stream.onDrained = { [self] in
            guard isHolding else { return }
            isHolding = false
            reply.resume()
        }
        stream.onSilence(after: keepAlive) { [stream] in
            // A comment with a colon: the course's clients take any other line for a fault.
            stream.write { EventEncoder.append(comment: "keep-alive", to: &$0) }
        }
        self.reply = reply
        reply.attach(self)
    }

    func read(line: Span<UInt8>, to position: ReplyPosition) -> Bool {
        // A JSON object that a generation hands on holds no line end.
        stream.write { EventEncoder.append(id: position.text, line: line, to: &$0) }
        if stream.unsentCount > unsentLimit, !isHolding {
            isHolding = true
            reply?.hold()
            stream.awaitDrain()
        }
        return !isHolding
    }

    func reset(to position: ReplyPosition) {}

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        stream.write { EventEncoder.append(id: position.text, line: ending.lastEvent.span, to: &$0) }
        reply = nil
        stream.finish()
    }

    func fail(_ error: RelayError) {
        responder.annotate(Annotation.code, error.code.rawValue)
        if !error.detail.isEmpty {
            responder.annotate(Annotation.detail, error.detail)
        }
        stream.write { Self.append(error, model: reply?.model ?? "", to: &$0) }
        reply = nil
        stream.finish()
    }

    /// Appends an `error` event that both generations of the course's clients can read.
    static func append(_ error: RelayError, model: String, to buffer: inout ByteBuffer) {
        var data = ByteBuffer()
        OllamaAnswer(model: model).appendError(
            error.message, code: error.code.rawValue, isRetryable: error.code.isRetryable, at: WallClock.nanoseconds(),
            to: &data)
        EventEncoder.append(name: .error, data: data.bytes, to: &buffer)
    }
}
