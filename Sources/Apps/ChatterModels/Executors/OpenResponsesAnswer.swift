import ChatterdBasics

/// An answer of Open Responses.
struct OpenResponsesAnswer: AnswerDecoder {
    private let callPrefix: String
    private var lines = EventLines()
    private var calls = 0
    private var refusal = ""
    private(set) var isOver = false

    init(callPrefix: String) {
        self.callPrefix = callPrefix
    }

    mutating func receive(_ bytes: Span<UInt8>, _ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        var lines = lines
        defer { self.lines = lines }
        try lines.read(bytes) { line throws(LLMError) in
            if case .json(let event, _) = line { try read(event, &events) }
            return !isOver
        }
    }

    mutating func end(_ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        throw Self.cut
    }

    private mutating func read(
        _ event: StructuredContent, _ events: inout ArraySlice<GenerationEvent>
    ) throws(LLMError) {
        let delta = event["delta"]?.wireText ?? ""
        switch event["type"]?.wireText {
        case "response.output_text.delta": if !delta.isEmpty { events.append(.text(delta)) }
        case "response.reasoning_text.delta", "response.reasoning.delta", "response.reasoning_summary_text.delta":
            if !delta.isEmpty { events.append(.reasoning(delta)) }
        case "response.refusal.delta": refusal += delta
        case "response.output_item.done":
            guard let item = event["item"], item["type"]?.wireText == "function_call" else { return }
            calls += 1
            events.append(
                .toolCall(
                    ToolCall(
                        id: item["call_id"]?.wireText ?? "\(callPrefix)\(calls)",
                        toolName: item["name"]?.wireText ?? "",
                        arguments: .arguments(item["arguments"]?.wireText ?? ""))))
        case "response.completed", "response.incomplete": try finish(event["response"] ?? .null, &events)
        case "response.failed":
            throw LLMError(inStream: event["response"]?["error"] ?? .null)
        case "error": throw LLMError(inStream: event)
        default: break
        }
    }

    private mutating func finish(
        _ response: StructuredContent, _ events: inout ArraySlice<GenerationEvent>
    ) throws(LLMError) {
        guard refusal.isEmpty else { throw .refused(refusal) }
        let word = response["incomplete_details"]?["reason"]?.wireText
        let isCut = word == nil && response["status"]?.wireText == "incomplete"
        let reason = isCut ? .length : GenerationEnd.Reason(word: word, callsTools: calls > 0)
        isOver = true
        events.append(
            .finished(
                GenerationEnd(
                    reason: reason, model: response["model"]?.wireText,
                    usage: Usage(response["usage"], prompt: "input_tokens", answer: "output_tokens"))))
    }
}
