import ChatterdBasics

/// An answer of chat completions.
struct OpenAIAnswer: AnswerDecoder {
    /// A call whose pieces arrive.
    private struct Call {
        var id: String
        var name: String
        var arguments: String
    }

    private let callPrefix: String
    private var lines = EventLines()
    private var calls: [Call] = []
    /// The places of calls by their numbers in the answer.
    private var places: [Int: Int] = [:]
    private var reason: String?
    private var refusal = ""
    private var model: String?
    private var usage: Usage?
    private(set) var isOver = false

    init(callPrefix: String) {
        self.callPrefix = callPrefix
    }

    mutating func receive(_ bytes: Span<UInt8>, _ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        var lines = lines
        defer { self.lines = lines }
        try lines.read(bytes) { line throws(LLMError) in
            switch line {
            case .done: try end(&events)
            case .json(let chunk, _): read(chunk, &events)
            }
            return !isOver
        }
    }

    /// `[DONE]` or the end of the body. Some servers send no `[DONE]`, so only a reason for the end is required.
    mutating func end(_ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        guard let reason else { throw Self.cut }
        guard refusal.isEmpty else { throw .refused(refusal) }
        for (index, call) in calls.enumerated() {
            events.append(
                .toolCall(
                    ToolCall(
                        id: call.id.isEmpty ? "\(callPrefix)\(index + 1)" : call.id, toolName: call.name,
                        arguments: .arguments(call.arguments))))
        }
        isOver = true
        events.append(
            .finished(
                GenerationEnd(
                    reason: GenerationEnd.Reason(word: reason, callsTools: !calls.isEmpty), model: model, usage: usage))
        )
    }

    private mutating func read(_ chunk: StructuredContent, _ events: inout ArraySlice<GenerationEvent>) {
        if let name = chunk["model"]?.wireText, !name.isEmpty { model = name }
        usage = Usage(chunk["usage"], prompt: "prompt_tokens", answer: "completion_tokens") ?? usage
        guard let choice = chunk["choices"]?.wireElements.first else { return }
        let delta = choice["delta"]
        if let text = (delta?["reasoning"] ?? delta?["reasoning_content"])?.wireText, !text.isEmpty {
            events.append(.reasoning(text))
        }
        if let text = delta?["content"]?.wireText, !text.isEmpty { events.append(.text(text)) }
        refusal += delta?["refusal"]?.wireText ?? ""
        for piece in delta?["tool_calls"]?.wireElements ?? [] {
            add(piece)
        }
        if let text = choice["finish_reason"]?.wireText, !text.isEmpty { reason = text }
    }

    private mutating func add(_ piece: StructuredContent) {
        let index = piece["index"]?.exactInteger ?? calls.count
        let function = piece["function"]
        // Some servers send whole arguments as an object.
        let arguments = function?["arguments"].map { $0.wireText ?? ($0 == .null ? "" : $0.json) } ?? ""
        if let place = places[index] {
            calls[place].arguments += arguments
            calls[place].name += function?["name"]?.wireText ?? ""
        } else {
            places[index] = calls.count
            calls.append(
                Call(
                    id: piece["id"]?.wireText ?? "", name: function?["name"]?.wireText ?? "", arguments: arguments))
        }
    }
}
