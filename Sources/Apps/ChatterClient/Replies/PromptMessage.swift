/// A new message of a conversation.
public struct PromptMessage: Sendable, Hashable, Codable {
    /// `user`, `system`, `tool` …
    public var role: String
    public var content: String
    /// Images in base64.
    public var images: [String]?
    /// The tool whose result this is, for role `tool`.
    public var toolName: String?
    /// The call whose result this is, for role `tool`.
    public var toolCallId: String?
    /// The calls of the model, for role `assistant`, in a history from elsewhere.
    public var toolCalls: [ToolCall]?

    enum CodingKeys: String, CodingKey {
        case role, content, images
        case toolName = "tool_name"
        case toolCallId = "tool_call_id"
        case toolCalls = "tool_calls"
    }

    public init(_ content: String, role: String = "user", images: [String]? = nil) {
        self.role = role
        self.content = content
        self.images = images
    }
}
