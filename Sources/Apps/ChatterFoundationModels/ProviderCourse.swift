import ChatterModels

/// The course of one message as events of FoundationModels.
public struct ProviderCourse: Sendable {
    private var entry: String
    private var hasContent = false
    private var calls = 0

    /// - Parameter entry: the id of the response if the model's server has none for it.
    public init(entry: String) {
        self.entry = entry
    }

    /// The events after an event of the model.
    ///
    /// - Throws: `LLMError`: a message that begins again, as the channel cannot take back what it has; and one without its end.
    public mutating func events(after event: GenerationEvent) throws(LLMError) -> [ProviderEvent] {
        switch event {
        case .identified(let id):
            if !hasContent { entry = id }
            return []
        case .text(let text):
            hasContent = true
            return [.appendText(text, entry: entry)]
        case .reasoning(let text): return [.appendReasoning(text, entry: entry + "/reasoning")]
        case .toolCall(let call):
            calls += 1
            return [
                .toolCall(
                    id: call.id, name: call.toolName, arguments: call.arguments.json, entry: entry + "/calls")
            ]
        case .reset:
            guard !hasContent, calls == 0 else {
                throw .connectionLost("The model's server started its answer over. Ask again.")
            }
            return []
        case .waiting: return []
        case .finished(let end):
            switch end.reason {
            case .stop, .toolCalls: break
            case .stopped: throw .cancelled
            default: throw .incomplete(end.reason)
            }
            guard let usage = end.usage else { return [] }
            return [
                .usage(
                    promptTokens: usage.promptTokens, answerTokens: usage.answerTokens,
                    entry: calls > 0 ? entry + "/calls" : entry)
            ]
        }
    }
}
