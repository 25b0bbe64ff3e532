import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Something on the wire that is not said often, and what must be heard of it.
struct OddCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kind: UpstreamDescription.Kind
    let steps: [UpstreamStep]
    let expected: Heard

    init(_ name: String, _ kind: UpstreamDescription.Kind, _ steps: [UpstreamStep], _ expected: Heard) {
        testDescription = name
        self.kind = kind
        self.steps = steps
        self.expected = expected
    }

    /// Events of OpenAI's chat completions, given as their data.
    static func openAI(_ name: String, _ data: [String], _ expected: Heard) -> OddCase {
        events(name, .openai, data.map { "data: \($0)\n\n" }, expected)
    }

    /// Events of Llama Stack's own API, given as their data.
    static func llamaStack(_ name: String, _ data: [String], _ expected: Heard) -> OddCase {
        events(name, .llamastack, data.map { "data: \($0)\n\n" }, expected)
    }

    /// Events with all that belongs to them, each in a chunk of its own.
    static func events(
        _ name: String, _ kind: UpstreamDescription.Kind, _ events: [String], _ expected: Heard
    ) -> OddCase {
        let head = UpstreamStep.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
        return OddCase(name, kind, [head] + events.map { .chunk($0) } + [.endChunks], expected)
    }

    /// Holds what is heard against what should be.
    func check() async throws {
        try await blocking {
            expect(try Peer(kind, steps).listen(), is: expected)
        }
    }
}

extension Heard {
    /// A good answer.
    static func answer(
        _ text: String = "", thinking: String = "", calls: [Call] = [], reason: String = "stop",
        finishReason: String? = nil, prompt: Int? = nil, answer: Int? = nil
    ) -> Heard {
        var heard = Heard()
        heard.text = text
        heard.thinking = thinking
        heard.calls = calls
        heard.reason = reason
        heard.finishReason = finishReason
        heard.promptTokens = prompt
        heard.answerTokens = answer
        return heard
    }

    /// One that fails.
    static func failure(
        _ code: ModelError.Code, _ words: String = "", after text: String = "", thinking: String = ""
    ) -> Heard {
        var heard = Heard()
        heard.text = text
        heard.thinking = thinking
        heard.code = code
        heard.words = words
        return heard
    }
}
