import Bytes
import HTTPServer
import LanguageModels
import Relay

/// Turns a reply into one JSON object of Ollama's shape, for requests with `"stream":false`. Confined to its shard.
final class WholeAnswerReader: ReplyReader {
    private let responder: Responder
    private var reply: Reply?

    init(_ responder: Responder) {
        self.responder = responder
    }

    /// Waits for the end of the reply; a client that leaves is reported to it.
    func follow(_ reply: Reply) {
        responder.onClientGone = { reply.readerLeft() }
        self.reply = reply
        reply.attach(self)
    }

    func read(line: Span<UInt8>, to position: ReplyPosition) -> Bool { true }

    func reset(to position: ReplyPosition) {}

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        if let reply = reply.take(), let body = Self.object(of: reply) {
            responder.respond(json: body)
        } else {
            responder.refuse(RelayError(.internal, "The answer is stored, but could not be put together."))
        }
    }

    func fail(_ error: RelayError) {
        reply = nil
        responder.refuse(error)
    }

    /// The last line of the reply, with the whole text in its message; nothing when the line does not read.
    private static func object(of reply: Reply) -> ByteBuffer? {
        guard let line = reply.finalLine else { return nil }
        let last = line.span
        guard let message = (try? OllamaLine(last))?.message else { return nil }
        var body = ByteBuffer(capacity: reply.text.count + last.count + 128)
        body.append(last.extracting(first: message.lowerBound))
        body.append("{\"role\":\"assistant\",\"content\":")
        let text = reply.text
        body.append(jsonString: text.bytes)
        if !reply.thinking.isEmpty {
            body.append(",\"thinking\":")
            let thinking = reply.thinking
            body.append(jsonString: thinking.bytes)
        }
        if !reply.toolCalls.isEmpty {
            body.append(",\"tool_calls\":[")
            body.append(reply.toolCalls)
            body.append("]")
        }
        body.append("}")
        body.append(last.extracting(message.upperBound..<last.count))
        return body
    }
}
