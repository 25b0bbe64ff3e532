import ChatterdBasics
import ChatterdHTTP

/// An answer of Ollama.
struct OllamaAnswer: AnswerDecoder {
    /// The longest line in bytes.
    private static let lineLimit = 8 << 20

    private let callPrefix: String
    private var lines = LineSplitter(limit: Self.lineLimit)
    private var calls = 0
    private(set) var isOver = false

    init(callPrefix: String) {
        self.callPrefix = callPrefix
    }

    mutating func receive(_ bytes: Span<UInt8>, _ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        var index = 0
        while !isOver {
            switch lines.next(bytes, from: &index) {
            case .line(let range): try read(bytes.extracting(range).array, &events)
            case .carriedLine: try read(lines.carriedLine.array, &events)
            case .more: return
            case .tooLong: throw .malformed("The model's server sent a line that is too long.")
            }
        }
    }

    mutating func end(_ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        // The error of a remote model may have no line end.
        let rest = lines.carriedLine.array
        if !rest.isEmpty { try read(rest, &events) }
        guard isOver else { throw Self.cut }
    }

    private mutating func read(_ line: [UInt8], _ events: inout ArraySlice<GenerationEvent>) throws(LLMError) {
        guard !line.allSatisfy({ $0 <= 0x20 }) else { return }
        let json: StructuredContent
        do {
            json = try StructuredContent(json: line)
        } catch {
            throw .malformed("The model's server sent a line that is not JSON.")
        }
        if let error = json["error"], error != .null { throw LLMError(inStream: error) }
        if let text = json["message"]?["thinking"]?.wireText, !text.isEmpty { events.append(.reasoning(text)) }
        if let text = json["message"]?["content"]?.wireText, !text.isEmpty { events.append(.text(text)) }
        for call in json["message"]?["tool_calls"]?.wireElements ?? [] {
            calls += 1
            events.append(
                .toolCall(
                    ToolCall(
                        id: call["id"]?.wireText ?? "\(callPrefix)\(calls)",
                        toolName: call["function"]?["name"]?.wireText ?? "",
                        arguments: call["function"]?["arguments"] ?? .object([]))))
        }
        guard json["done"] == true else { return }
        let reason = GenerationEnd.Reason(word: json["done_reason"]?.wireText, callsTools: calls > 0)
        isOver = true
        events.append(
            .finished(
                GenerationEnd(
                    reason: reason, model: json["model"]?.wireText,
                    usage: Usage(json, prompt: "prompt_eval_count", answer: "eval_count"))))
    }
}
