import ChatterdBasics
import ChatterdLanguageModels
import ChatterdSockets

/// The built-in model `echo`, which shows that the history arrives. Confined to its shard.
///
/// Its answer has the number of messages and the prompt; to "what did I say" it is the prompt before.
public final class EchoModel: LanguageModel {
    private let shard: Shard
    private let interval: Duration
    private let now: @Sendable () -> Int64

    /// Creates the model; `interval` is the time between two words, `now` the wall clock in nanoseconds since 1970.
    public init(shard: Shard, interval: Duration = .milliseconds(150), now: @escaping @Sendable () -> Int64) {
        self.shard = shard
        self.interval = interval
        self.now = now
    }

    /// Returns the one model, `echo`.
    public func listModels() async throws(ModelError) -> [ModelDescription] { [ModelDescription(name: "echo")] }

    /// Starts an answer.
    public func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        let answer = Self.answer(to: Self.messages(in: request.messages))
        let generation = EchoGeneration(
            model: request.model, words: Self.words(of: answer), promptCount: request.messages.count,
            interval: interval, now: now, consumer: consumer)
        generation.start(on: shard)
        return generation
    }

    /// The answer to a conversation.
    static func answer(to messages: [ModelMessage]) -> String {
        let prompts = messages.filter { $0.role == "user" }.map(\.content)
        let prompt = messages.last?.content ?? ""
        if prompt.lowercased().contains("what did i say") {
            guard prompts.count > 1 else { return "You have said nothing before this." }
            return "Before this, you said: \(prompts[prompts.count - 2])"
        }
        let messageCount = messages.count == 1 ? "1 message" : "\(messages.count) messages"
        let turnCount = prompts.count == 1 ? "1 turn" : "\(prompts.count) turns"
        return "I am echo, the built-in model. I was given \(messageCount) of \(turnCount). You said: \(prompt)"
    }

    /// The words of a text, each with the white space after it: joined, they are the text.
    static func words(of text: String) -> [String] {
        var words: [String] = []
        var word = ""
        for character in text {
            if let last = word.last, last.isWhitespace, !character.isWhitespace {
                words.append(word)
                word = ""
            }
            word.append(character)
        }
        if !word.isEmpty {
            words.append(word)
        }
        return words
    }

    /// The messages that were encoded. chatterd encodes them itself; messages after one that cannot be decoded are left out.
    static func messages(in encoded: EncodedMessages) -> [ModelMessage] {
        var messages: [ModelMessage] = []
        var text = ByteBuffer()
        text.append("[")
        text.append(encoded.json.bytes)
        text.append("]")
        let bytes = text.bytes
        var reader = JSONReader(bytes)
        do throws(JSONError) {
            try reader.beginArray()
            while try reader.nextElement() {
                var message = ModelMessage(role: "", content: "")
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    if reader.matches(key, "role") {
                        message.role = String(decodingJSON: bytes.extracting(try reader.string().range))
                    } else if reader.matches(key, "content") {
                        message.content = String(decodingJSON: bytes.extracting(try reader.string().range))
                    } else {
                        try reader.skipValue()
                    }
                }
                messages.append(message)
            }
        } catch {
            return messages
        }
        return messages
    }
}

/// An answer of the model `echo`, word by word. Confined to its shard.
private final class EchoGeneration: Generation {
    private let writer: AnswerLineWriter
    private let words: [String]
    private let promptCount: Int
    private let interval: Duration
    private let now: @Sendable () -> Int64
    private var consumer: (any GenerationConsumer)?
    private var sent = 0
    private var isPaused = false
    private var timer: DeadlineTimer?

    init(
        model: String, words: [String], promptCount: Int, interval: Duration, now: @escaping @Sendable () -> Int64,
        consumer: any GenerationConsumer
    ) {
        writer = AnswerLineWriter(model: model)
        self.words = words
        self.promptCount = promptCount
        self.interval = interval
        self.now = now
        self.consumer = consumer
    }

    func start(on shard: Shard) {
        timer = DeadlineTimer(on: shard) { [unowned self] in sendNext() }
        timer?.set(after: interval)
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
        timer?.set(after: interval)
    }

    private func sendNext() {
        guard let consumer, !isPaused else { return }
        var line = ByteBuffer()
        if sent < words.count {
            var word = words[sent]
            word.withUTF8 { writer.append(content: $0.span, at: now(), to: &line) }
            sent += 1
            deliver(line, to: consumer)
            timer?.set(after: interval)
        } else {
            writer.appendEnd(
                at: now(), doneReason: "stop", promptTokens: promptCount, answerTokens: words.count, to: &line)
            deliver(line, to: consumer)
            self.consumer = nil
            consumer.generationEnded(self, error: nil)
        }
    }

    private func deliver(_ line: ByteBuffer, to consumer: any GenerationConsumer) {
        let bytes = line.bytes
        // The writer made the line, so it always parses.
        guard let fields = try? AnswerLine(bytes) else { return }
        consumer.generation(self, line: bytes, fields: fields)
    }
}
