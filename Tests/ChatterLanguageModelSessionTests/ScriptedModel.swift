import ChatterLanguageModelSession
import ChatterdBasics

/// A model that answers with one list of events after the other, and keeps its requests.
final class ScriptedModel: LLM {
    let name = "scripted"
    let generatesSchemasWithTools = true
    private let answers: Lock<[Result<[GenerationEvent], LLMError>]>
    private let received = Lock<[GenerationRequest]>([])

    init(_ answers: Result<[GenerationEvent], LLMError>...) {
        self.answers = Lock(answers)
    }

    var requests: [GenerationRequest] { received.withLock { $0 } }

    var availability: Availability { .available }

    func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        received.withLock { $0.append(request) }
        let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return AsyncThrowingStream { continuation in
            switch answer {
            case .success(let events):
                for event in events { continuation.yield(event) }
                continuation.finish()
            case .failure(let error): continuation.finish(throwing: error)
            }
        }
    }
}

/// A model that lets other tasks run before each event.
struct YieldingModel: LLM {
    let name = "yielding"
    let availability = Availability.available

    func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let events = Lock<[GenerationEvent]>([.finished(GenerationEnd(reason: .stop)), .text(" upon"), .text("Once")])
        return AsyncThrowingStream {
            for _ in 0..<100 { await Task.yield() }
            return events.withLock { $0.popLast() }
        }
    }
}

extension Result where Success == [GenerationEvent], Failure == LLMError {
    /// A text in pieces.
    static func text(_ pieces: String..., reason: GenerationEnd.Reason = .stop) -> Self {
        .success(pieces.map { .text($0) } + [.finished(GenerationEnd(reason: reason))])
    }

    /// A call of a tool.
    static func call(_ tool: String, _ arguments: StructuredContent) -> Self {
        .success([
            .toolCall(ToolCall(id: "call-1", toolName: tool, arguments: arguments)),
            .finished(GenerationEnd(reason: .toolCalls)),
        ])
    }
}
