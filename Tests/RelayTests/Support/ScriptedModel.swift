import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

/// A model whose answers the test controls.
final class ScriptedModel: LanguageModel, @unchecked Sendable {
    private(set) var generations: [ScriptedGeneration] = []

    func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        let generation = ScriptedGeneration(request, consumer)
        generations.append(generation)
        return generation
    }

    func listModels() async throws(ModelError) -> [ModelDescription] { [] }

    /// The answer that the model was asked for last.
    var last: ScriptedGeneration {
        get throws { try #require(generations.last) }
    }

    /// Releases the replies, for tests that check for leaks.
    func forget() {
        generations = []
    }
}

extension Upstream {
    /// An upstream whose model the test uses too.
    convenience init(_ description: UpstreamDescription, model: ScriptedModel, health: UpstreamHealth) {
        self.init(description, model: Confined(model, to: TestThread()), health: health)
    }
}

/// The thread of a test, which runs the manual shards as well.
private struct TestThread: Confinement {
    func preconditionCurrent() {}
}

/// One answer of a scripted model.
final class ScriptedGeneration: Generation {
    let request: GenerationRequest
    private var consumer: (any GenerationConsumer)?
    private(set) var isCancelled = false
    private(set) var isPaused = false

    init(_ request: GenerationRequest, _ consumer: any GenerationConsumer) {
        self.request = request
        self.consumer = consumer
    }

    /// The messages of the request, as `role: content`.
    var prompts: [String] {
        let text = "[\(request.messages.json.string)]"
        let list = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [[String: Any]] ?? []
        return list.map { "\($0["role"] ?? "?"): \($0["content"] ?? "?")" }
    }

    func cancel() {
        isCancelled = true
        consumer = nil
    }

    func pause() { isPaused = true }
    func resume() { isPaused = false }

    /// Sends a piece of the answer.
    func send(_ text: String) {
        var line = ByteBuffer()
        AnswerLineWriter(model: request.model).append(content: text.utf8.span, at: 0, to: &line)
        deliver(line)
    }

    /// Sends a complete line.
    func sendLine(_ text: String) {
        var line = ByteBuffer()
        line.append(utf8: text)
        deliver(line)
    }

    /// Sends pieces of the answer in one run.
    func send(run texts: [String]) {
        guard let table = try? TokenTable(texts, model: request.model) else {
            Issue.record("the test's run has no lines")
            return
        }
        consumer?.generation(
            self, lines: LineRun(table.bytes.span, tokens: table.tokens.span, like: table.example))
    }

    private func deliver(_ line: ByteBuffer) {
        let bytes = line.bytes
        guard let fields = try? AnswerLine(bytes) else {
            Issue.record("the test's line cannot be parsed: \(line.string)")
            return
        }
        consumer?.generation(self, lines: LineRun(line: bytes, fields: fields))
    }

    /// Sends the last line, and ends.
    func finish() {
        var line = ByteBuffer()
        AnswerLineWriter(model: request.model).appendEnd(
            at: 0, doneReason: "stop", promptTokens: 1, answerTokens: 1, to: &line)
        deliver(line)
        end(nil)
    }

    /// Sends a text and the last line.
    func complete(_ text: String) {
        send(text)
        finish()
    }

    func fail(_ code: ModelError.Code) {
        end(ModelError(code, "the model failed"))
    }

    func end(_ error: ModelError?) {
        let consumer = consumer
        self.consumer = nil
        consumer?.generationEnded(self, error: error)
    }
}

/// Records the events of a reply.
final class RecordingReader: ReplyListener, @unchecked Sendable {
    private(set) var lines: [String] = []
    private(set) var positions: [ReplyPosition] = []
    private(set) var endings: [ReplyEnding] = []
    private(set) var resets = 0
    /// Whether the reader cannot receive more.
    var isFull = false
    private(set) var ends: [RelayError?] = []
    let followsSteps: Bool
    /// The changes of steps: `0.1 f waiting`.
    private(set) var steps: [String] = []
    /// The changes of steps and the lines with text, in their order. The lines are `…` and their text.
    private(set) var course: [String] = []

    init(followingSteps: Bool = false) {
        followsSteps = followingSteps
    }

    func receive(_ changes: [StepChange]) {
        #expect(ends.isEmpty, "a step after the end")
        let changes = changes.map {
            "\($0.place.round).\($0.place.index) \($0.call.name) \($0.call.state.rawValue)"
        }
        steps += changes
        course += changes
    }

    func receive(_ run: PositionedLines) -> Bool {
        #expect(ends.isEmpty, "a line after the end")
        for index in 0..<run.count {
            lines.append(run.line(at: index).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            positions.append(run.position(after: index))
            let text = Self.text(of: lines.suffix(1))
            if !text.isEmpty { course.append("…" + text) }
        }
        return !isFull
    }

    func isQueued(at position: QueuePosition) {}

    func reset(to position: ReplyPosition) {
        lines = []
        resets += 1
    }

    func end(_ ending: ReplyEnding, at position: ReplyPosition) {
        if !ending.isError {
            lines.append(String(decoding: ending.lastEvent, as: UTF8.self))
        }
        positions.append(position)
        endings.append(ending)
        ends.append(ending.cause)
    }

    func fail(_ error: RelayError) {
        ends.append(error)
    }

    /// The concatenated contents of all lines, decoded.
    var text: String { Self.text(of: lines) }

    private static func text(of lines: some Sequence<String>) -> String {
        var text = ByteBuffer()
        for line in lines {
            let bytes = Array(line.utf8)
            guard let content = (try? AnswerLine(bytes.span))?.content else { continue }
            text.append(decodingJSON: bytes.span.extracting(content.range))
        }
        return text.string
    }

    /// The state of the single announced end, with the code of its last event.
    var ending: String? {
        guard endings.count == 1, ends.count == 1 else { return nil }
        let event = String(decoding: endings[0].lastEvent, as: UTF8.self)
        let code = event.firstMatch(of: /"code":"([a-z_]+)"/).map { " \($0.1)" } ?? ""
        return endings[0].state.rawValue + code
    }

    /// Whether the last line completes the answer.
    var isDone: Bool {
        guard let bytes = lines.last.map({ Array($0.utf8) }) else { return false }
        return (try? AnswerLine(bytes.span))?.isDone ?? false
    }
}
