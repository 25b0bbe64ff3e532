import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// An unusual answer on the wire, and the expected result.
struct UnusualCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let kind: UpstreamDescription.Kind
    let steps: [UpstreamStep]
    let expected: ReceivedAnswer

    init(_ name: String, _ kind: UpstreamDescription.Kind, _ steps: [UpstreamStep], _ expected: ReceivedAnswer) {
        testDescription = name
        self.kind = kind
        self.steps = steps
        self.expected = expected
    }

    /// Events of OpenAI's chat completions, given as their data.
    static func openAI(_ name: String, _ data: [String], _ expected: ReceivedAnswer) -> UnusualCase {
        events(name, .openai, data.map { "data: \($0)\n\n" }, expected)
    }

    /// Events of Llama Stack's own API, given as their data.
    static func llamaStack(_ name: String, _ data: [String], _ expected: ReceivedAnswer) -> UnusualCase {
        events(name, .llamastack, data.map { "data: \($0)\n\n" }, expected)
    }

    /// Whole events, each in its own chunk.
    static func events(
        _ name: String, _ kind: UpstreamDescription.Kind, _ events: [String], _ expected: ReceivedAnswer
    ) -> UnusualCase {
        let head = UpstreamStep.head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
        return UnusualCase(name, kind, [head] + events.map { .chunk($0) } + [.endChunks], expected)
    }

    /// Compares the received answer with the expected one.
    func check() async throws {
        try await blocking {
            expect(try Peer(kind, steps).received(), is: expected)
        }
    }
}

extension ReceivedAnswer {
    /// A complete answer.
    static func answer(
        _ text: String = "", thinking: String = "", calls: [Call] = [], reason: String = "stop",
        finishReason: String? = nil, prompt: Int? = nil, answer: Int? = nil
    ) -> ReceivedAnswer {
        var received = ReceivedAnswer()
        received.text = text
        received.thinking = thinking
        received.calls = calls
        received.reason = reason
        received.finishReason = finishReason
        received.promptTokens = prompt
        received.answerTokens = answer
        return received
    }

    /// An answer that fails.
    static func failure(
        _ code: ModelError.Code, _ words: String = "", after text: String = "", thinking: String = ""
    ) -> ReceivedAnswer {
        var received = ReceivedAnswer()
        received.text = text
        received.thinking = thinking
        received.code = code
        received.words = words
        return received
    }
}
