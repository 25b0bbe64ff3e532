import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdRelay

/// Writes a reply as one JSON object, for requests that are not streamed. Confined to its shard.
final class AnswerCollector: ReplyListener {
    private let responder: Responder
    private let translator: any AnswerTranslator
    private let context: AnswerContext
    private let fields: Fields
    /// What is known of a reply that the request has begun.
    private let facts: ReplyFacts?
    private var subscription: ReplySubscription?
    private var registration: RevocableResponses.Registration?
    private var finished: CheckedContinuation<Void, Never>?
    private var text = ByteBuffer()
    private var thinking = ByteBuffer()
    private var toolCalls = ByteBuffer()
    let followsSteps: Bool
    /// The calls of tools of the server, each as it is now, by their places in the answer.
    private var steps: [[StepChange]] = []
    private var stepSize = 0
    /// The reservation for the text, the object and the output.
    private let memory: MemoryReservation
    private var reserved = 0
    /// Whether the answer exceeds the memory budget. The store keeps it, and this response reports an error.
    private var isTooLarge = false

    init(
        _ responder: Responder, _ translator: any AnswerTranslator, _ context: AnswerContext, fields: Fields,
        _ facts: ReplyFacts? = nil, memory: MemoryBudget, followsSteps: Bool = false
    ) {
        self.followsSteps = followsSteps
        self.responder = responder
        self.translator = translator
        self.context = context
        (self.fields, self.facts) = (fields, facts)
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
            if size > reserved { reserveMore() }
        }
    }

    func receive(_ changes: [StepChange]) {
        for change in changes {
            let (round, index) = (change.place.round, change.place.index)
            while steps.count <= round { steps.append([]) }
            stepSize += change.size
            if steps[round].indices.contains(index) {
                stepSize -= steps[round][index].size
                steps[round][index] = change
            } else {
                steps[round].append(change)
            }
        }
        if !isTooLarge, size > reserved { reserveMore() }
    }

    /// The size of the answer so far, in bytes.
    private var size: Int { text.count + thinking.count + toolCalls.count + stepSize }

    func isQueued(at position: QueuePosition) {}

    func reset(to position: ReplyPosition) {
        isTooLarge = false
        text.removeAll()
        thinking.removeAll()
        toolCalls.removeAll()
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        if let error = ending.error, ending.isError || !translator.presentsAnyEnding {
            fail(error)
        } else if isTooLarge {
            fail(
                RelayError(
                    .overloaded, "\(memory.refusal) The answer is stored; read it as a stream at its Location."))
        } else if let body = object(endingWith: ending.lastEvent) {
            responder.respond(json: body, fields: fields, timing: facts.map { ServerTiming($0) }, memory: memory)
            finish()
        } else {
            fail(RelayError(.internal, "The answer is stored, but could not be put together."))
        }
    }

    func fail(_ error: RelayError) {
        responder.refuse(responder.worded(error, model: context.model), fields: fields)
        finish()
    }

    /// Reserves memory for more text. If that fails, it drops the text; the reply continues and is stored.
    private func reserveMore() {
        reserved = size + Self.step
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

    /// The answer in the form of its path; `nil` if the last line cannot be parsed.
    private func object(endingWith last: [UInt8]) -> ByteBuffer? {
        guard let fields = try? AnswerLine(last.span), fields.message != nil else { return nil }
        append(fields, of: last.span)
        var body = ByteBuffer(capacity: text.count + thinking.count + toolCalls.count + last.count + 512)
        let answer = WholeAnswer(
            text: text, thinking: thinking, toolCalls: toolCalls, lastLine: last, steps: steps.flatMap(\.self))
        (text, thinking, toolCalls) = (ByteBuffer(), ByteBuffer(), ByteBuffer())
        translator.append(answer, context, to: &body)
        return body
    }
}
