import ChatterdBasics
import ChatterdChat
import ChatterdSockets

/// An answer of the model `echo`, piece by piece. Confined to its shard.
final class EchoGeneration: Generation {
    private let writer: AnswerLineWriter
    private let script: EchoScript
    private let promptCount: Int
    private let now: @Sendable () -> Int64
    private var consumer: (any GenerationConsumer)?
    private var sent = 0
    private var isPaused = false
    private var timer: DeadlineTimer?

    init(
        model: String, script: EchoScript, promptCount: Int, now: @escaping @Sendable () -> Int64,
        consumer: any GenerationConsumer
    ) {
        writer = AnswerLineWriter(model: model)
        self.script = script
        self.promptCount = promptCount
        self.now = now
        self.consumer = consumer
    }

    func start(on shard: Shard) {
        timer = DeadlineTimer(on: shard) { [unowned self] in sendNext() }
        setTimer()
    }

    func cancel() {
        timer?.cancel()
        consumer = nil
    }

    func pause() {
        isPaused = true
    }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        setTimer()
    }

    private func setTimer() {
        timer?.set(after: sent < script.pieces.count ? script.interval : script.lastInterval)
    }

    private func sendNext() {
        guard let consumer, !isPaused else { return }
        var line = ByteBuffer()
        if sent < script.pieces.count {
            append(script.pieces[sent], to: &line)
            sent += 1
            deliver(line, to: consumer)
            setTimer()
            return
        }
        if script.failure == nil {
            writer.appendEnd(
                at: now(), doneReason: "stop", promptTokens: promptCount, answerTokens: sent, to: &line)
            deliver(line, to: consumer)
        }
        self.consumer = nil
        consumer.generationEnded(self, error: script.failure)
    }

    private func append(_ piece: EchoScript.Piece, to line: inout ByteBuffer) {
        switch piece {
        case .text(var text):
            text.withUTF8 { writer.append(content: $0.span, at: now(), to: &line) }
        case .thinking(var text):
            text.withUTF8 { writer.append(thinking: $0.span, at: now(), to: &line) }
        case .toolCall(let name, let text):
            var calls = ByteBuffer()
            calls.appendJSON { json in
                json.array { json in
                    json.object { json in
                        json.object("function") { json in
                            json.member("name", name)
                            json.object("arguments") { $0.member("text", text) }
                        }
                    }
                }
            }
            writer.append(toolCalls: calls.bytes, at: now(), to: &line)
        }
    }

    private func deliver(_ line: ByteBuffer, to consumer: any GenerationConsumer) {
        let bytes = line.bytes
        // The writer made the line, so it always parses.
        guard let fields = try? AnswerLine(bytes) else { return }
        consumer.generation(self, lines: LineRun(line: bytes, fields: fields))
    }
}
