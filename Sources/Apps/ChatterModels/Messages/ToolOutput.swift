/// The result of a tool, or the reason why there is none.
public struct ToolOutput: Sendable, Hashable, Codable {
    /// The id of the call.
    public var id: String
    public var toolName: String
    public var chunks: [ContentChunk]
    /// Whether the tool failed. The text then says why, for the model.
    public var isError: Bool

    public init(id: String, toolName: String, _ content: any PromptRepresentable, isError: Bool = false) {
        self.id = id
        self.toolName = toolName
        chunks = content.chunks
        self.isError = isError
    }

    public var text: String { chunks.text }
}
