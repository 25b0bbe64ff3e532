import ChatterdBasics

/// An answer of Llama Stack's own inference.
struct LlamaStackAnswer: AnswerDecoder {
    private let callPrefix: String
    private var lines = EventLines()
    private var calls = 0
    private(set) var isOver = false

    init(callPrefix: String) {
        self.callPrefix = callPrefix
    }

    mutating func receive(_ bytes: Span<UInt8>, _ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        var lines = lines
        defer { self.lines = lines }
        try lines.read(bytes) { line throws(LLMError) in
            if case .json(let chunk, _) = line { read(chunk, &events) }
            return !isOver
        }
    }

    mutating func end(_ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        throw Self.cut
    }

    private mutating func read(_ chunk: StructuredContent, _ events: inout ArraySlice<GenerationEvent>) {
        guard let event = chunk["event"] else { return }
        let delta = event["delta"]
        if let text = delta?["text"]?.wireText, !text.isEmpty { events.append(.text(text)) }
        // Pieces of a call are texts; the whole call is an object.
        if let call = delta?["tool_call"], let name = call["tool_name"]?.wireText {
            calls += 1
            events.append(
                .toolCall(
                    ToolCall(
                        id: call["call_id"]?.wireText ?? "\(callPrefix)\(calls)", toolName: name,
                        arguments: call["arguments"] ?? .arguments(call["arguments_json"]?.wireText ?? ""))))
        }
        guard event["event_type"]?.wireText == "complete" else { return }
        let reason = GenerationEnd.Reason(word: event["stop_reason"]?.wireText, callsTools: calls > 0)
        isOver = true
        events.append(.finished(GenerationEnd(reason: reason, usage: Self.usage(chunk["metrics"]))))
    }

    private static func usage(_ metrics: StructuredContent?) -> Usage? {
        func value(_ name: String) -> Int? {
            metrics?.wireElements.first { $0["metric"]?.wireText == name }?["value"]?.count
        }
        guard let answer = value("completion_tokens") else { return nil }
        return Usage(promptTokens: value("prompt_tokens") ?? 0, answerTokens: answer)
    }
}
