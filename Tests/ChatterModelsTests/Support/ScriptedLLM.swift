import ChatterModels
import ChatterdBasics

/// A model whose messages are written down before, and that records its requests.
final class ScriptedLLM: LLM {
    typealias Script = @Sendable (GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error>

    let name = "scripted"
    let generatesSchemasWithTools: Bool
    private let scripts: [Script]
    private let state = Lock<[GenerationRequest]>([])

    /// A model that plays one script for each request; the last one for all further requests.
    init(schemasWithTools: Bool = true, scripts: [Script]) {
        self.scripts = scripts
        generatesSchemasWithTools = schemasWithTools
    }

    /// A model of whole messages.
    convenience init(schemasWithTools: Bool = true, _ messages: [GenerationEvent]...) {
        self.init(
            schemasWithTools: schemasWithTools,
            scripts: messages.map { events in { _ in .of(events) } })
    }

    var requests: [GenerationRequest] { state.withLock { $0 } }

    var availability: Availability { .available }

    func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let number = state.withLock {
            $0.append(request)
            return $0.count - 1
        }
        return scripts[min(number, scripts.count - 1)](request)
    }
}

extension AsyncThrowingStream where Element == GenerationEvent, Failure == any Error {
    static func of(_ events: [GenerationEvent], error: LLMError? = nil) -> Self {
        AsyncThrowingStream { continuation in
            for event in events {
                continuation.yield(event)
            }
            continuation.finish(throwing: error)
        }
    }
}

extension [GenerationEvent] {
    /// A text that comes in pieces of some characters.
    static func text(_ text: String, by count: Int = 3, reason: GenerationEnd.Reason = .stop) -> [GenerationEvent] {
        var events: [GenerationEvent] = []
        var rest = Substring(text)
        while !rest.isEmpty {
            events.append(.text(String(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        let usage = Usage(promptTokens: 10, answerTokens: events.count)
        return events + [.finished(GenerationEnd(reason: reason, model: "m", usage: usage))]
    }

    /// Calls of tools.
    static func calls(_ calls: ToolCall...) -> [GenerationEvent] {
        calls.map { .toolCall($0) } + [.finished(GenerationEnd(reason: .toolCalls))]
    }
}
