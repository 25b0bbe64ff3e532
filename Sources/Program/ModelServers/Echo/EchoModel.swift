import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdSockets

/// The built-in model `echo`, which shows that the history arrives. Confined to its shard.
///
/// Its answer has the number of messages and the prompt; to "what did I say" it is the prompt before. Its variants answer in other
/// ways, or fail: `EchoVariant`.
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

    /// Returns `echo` and its variants.
    public func listModels() async throws(ModelError) -> [ModelDescription] {
        EchoVariant.allCases.map { ModelDescription(name: $0.modelName) }
    }

    /// Starts an answer.
    public func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        let script = EchoScript(
            EchoVariant(model: request.model), to: Self.messages(in: request.messages), interval: interval,
            tools: Self.tools(in: request.passThrough))
        let generation = EchoGeneration(
            model: request.model, script: script, promptCount: request.messages.count, now: now, consumer: consumer)
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
        // By scalars, because a character may be as long as the text.
        var endsInSpace = false
        for scalar in text.unicodeScalars {
            let isSpace = scalar.properties.isWhitespace
            if endsInSpace, !isSpace {
                words.append(word)
                word = ""
            }
            word.unicodeScalars.append(scalar)
            endsInSpace = isSpace
        }
        if !word.isEmpty {
            words.append(word)
        }
        return words
    }

    /// The messages that were encoded. chatterd encodes them itself; messages after one that cannot be decoded are left out.
    static func messages(in encoded: EncodedConversation) -> [ModelMessage] {
        var messages: [ModelMessage] = []
        var text = ByteBuffer()
        text.append("[")
        for part in encoded.parts {
            text.append(part.bytes)
        }
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

    /// The names of the tools that a request offers, in Ollama's form; none after one that cannot be decoded.
    static func tools(in members: [RawMember]) -> [String] {
        var names: [String] = []
        guard let tools = members.last(where: { $0.key == "tools" })?.value else { return names }
        let bytes = tools.span
        var reader = JSONReader(bytes)
        do throws(JSONError) {
            try reader.beginArray()
            while try reader.nextElement() {
                let tool = try ToolCallRanges(from: &reader)
                if !tool.name.isEmpty {
                    names.append(String(decodingJSON: bytes.extracting(tool.name)))
                }
            }
        } catch {
            return names
        }
        return names
    }
}
