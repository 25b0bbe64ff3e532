/// A message of the model.
public struct AIMessage: Sendable, Hashable, Codable, ExpressibleByStringLiteral {
    /// Texts, and calls of tools.
    public var chunks: [ContentChunk]
    /// What a thinking model thought before.
    public var reasoning: String
    /// The name by which the model's server knows the message; `nil` if it keeps none. An executor that sends only what is new finds
    /// here what the server has.
    public var id: String?

    public init(
        _ content: any PromptRepresentable = "", toolCalls: [ToolCall] = [], reasoning: String = "", id: String? = nil
    ) {
        chunks = content.chunks.filter { $0 != .text("") } + toolCalls.map { .toolCall($0) }
        self.reasoning = reasoning
        self.id = id
    }

    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var toolCalls: [ToolCall] {
        chunks.compactMap { if case .toolCall(let call) = $0 { call } else { nil } }
    }

    public var text: String { chunks.text }
}
