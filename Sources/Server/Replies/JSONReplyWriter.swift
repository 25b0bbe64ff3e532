import ChatterdBasics
import ChatterdDoors
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdLanguageModels
import ChatterdRelay

/// Writes a reply as one JSON object, for requests that are not streamed: in the shape of Ollama's, or in the form of a door. Confined to
/// its shard.
final class JSONReplyWriter: ReplyListener {
    private let responder: Responder
    private let model: String
    /// `Location`, and the quota of the principal.
    private let fields: Fields
    /// The form of a door, with the context of the answer; `nil` for a request to one of chatterd's own paths.
    private let form: (translator: any ChatTranslator, context: AnswerContext)?
    private var subscription: ReplySubscription?
    private var registration: RevocableResponses.Registration?
    private var finished: CheckedContinuation<Void, Never>?
    private var text = ByteBuffer()
    private var thinking = ByteBuffer()
    private var toolCalls = ByteBuffer()
    /// The reservation for the text, the object and the output.
    private let memory: MemoryReservation
    private var reserved = 0
    /// Whether the answer exceeds the memory budget. The store keeps it, and this response reports an error.
    private var isTooLarge = false

    init(
        _ responder: Responder, model: String, fields: Fields, memory: MemoryBudget,
        form: (translator: any ChatTranslator, context: AnswerContext)? = nil
    ) {
        self.form = form
        self.responder = responder
        self.model = model
        self.fields = fields
        self.memory = memory.charge(0)
    }

    /// Collects the lines of the subscription. If the client leaves, or has left before, the subscription ends.
    func follow(_ subscription: ReplySubscription, until watch: RevocationWatch) {
        guard responder.isWaiting else {
            subscription.cancel()
            return
        }
        self.subscription = subscription
        registration = watch.begin { [self] error in
            self.subscription.take()?.cancel()
            fail(error)
        }
        responder.onClientGone = { [self] in
            self.subscription?.cancel()
            finish()
        }
    }

    /// Returns when the response is written, or the client has left.
    func waitUntilFinished() async {
        guard subscription != nil else { return }
        await withCheckedContinuation { finished = $0 }
    }

    private func finish() {
        registration.take()?.cancel()
        subscription = nil
        finished.take()?.resume()
    }

    func receive(_ lines: PositionedLines) -> Bool {
        for index in 0..<lines.count {
            receive(lines.line(at: index))
        }
        return true
    }

    private func receive(_ line: Span<UInt8>) {
        guard !isTooLarge else { return }
        // The reply has parsed the line before, so that this does not fail.
        if let fields = try? AnswerLine(line) {
            append(fields, of: line)
            if text.count + thinking.count + toolCalls.count > reserved {
                reserveMore()
            }
        }
    }

    func isQueued(at position: QueuePosition) {}

    func reset(to position: ReplyPosition) {
        isTooLarge = false
        text.removeAll()
        thinking.removeAll()
        toolCalls.removeAll()
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        defer { finish() }
        let event = LastEvent(of: ending)
        let isPresented = form?.translator.presentsStoppedAnswers == true && ending.state == .cancelled
        if let error = form == nil || isPresented ? event.error : ending.doorError {
            responder.refuse(responder.worded(error, model: model), fields: fields)
        } else if isTooLarge {
            responder.refuse(
                RelayError(.overloaded, "\(memory.refusal) The answer is stored; read it as a stream at its Location."),
                fields: fields)
        } else if let body = object(endingWith: event.data.span) {
            responder.respond(json: body, fields: fields, memory: memory)
        } else {
            responder.refuse(
                RelayError(.internal, "The answer is stored, but could not be put together."), fields: fields)
        }
    }

    func fail(_ error: RelayError) {
        defer { finish() }
        responder.refuse(responder.worded(error, model: model), fields: fields)
    }

    /// Reserves memory for more text. If that fails, it drops the text; the reply continues and is stored.
    private func reserveMore() {
        reserved = text.count + thinking.count + toolCalls.count + Self.step
        guard !memory.grow(to: 3 * reserved, for: .output) else { return }
        isTooLarge = true
        (text, thinking, toolCalls) = (ByteBuffer(), ByteBuffer(), ByteBuffer())
        reserved = 0
        memory.shrink(to: 0)
    }

    /// The step by which the reservation grows, in bytes.
    private static let step = 64 * 1_024

    private func append(_ fields: AnswerLine, of line: Span<UInt8>) {
        if let content = fields.content, !content.range.isEmpty {
            text.append(decodingJSON: line.extracting(content.range))
        }
        if let thought = fields.thinking, !thought.range.isEmpty {
            thinking.append(decodingJSON: line.extracting(thought.range))
        }
        if let calls = fields.toolCalls {
            if !toolCalls.isEmpty {
                toolCalls.append(UInt8(ascii: ","))
            }
            toolCalls.append(line.extracting((calls.lowerBound + 1)..<(calls.upperBound - 1)))
        }
    }

    /// The last line of the reply, with the whole text in its message; `nil` if the line cannot be parsed.
    private func object(endingWith last: Span<UInt8>) -> ByteBuffer? {
        guard let fields = try? AnswerLine(last), let message = fields.message else { return nil }
        append(fields, of: last)
        let (text, thinking, toolCalls) = (text, thinking, toolCalls)
        if let form {
            var body = ByteBuffer(capacity: text.count + thinking.count + toolCalls.count + last.count + 512)
            let answer = WholeAnswer(text: text, thinking: thinking, toolCalls: toolCalls, lastLine: last.array)
            form.translator.append(answer, form.context, to: &body)
            return body
        }
        var body = ByteBuffer(capacity: text.count + thinking.count + toolCalls.count + last.count + 128)
        body.append(last.extracting(first: message.lowerBound))
        body.append(assistantSaying: text.bytes, thinking: thinking.bytes, toolCalls: toolCalls.bytes)
        body.append(last.extracting(message.upperBound..<last.count))
        (self.text, self.thinking, self.toolCalls) = (ByteBuffer(), ByteBuffer(), ByteBuffer())
        return body
    }
}
