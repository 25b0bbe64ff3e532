/// A value that can be part of a message.
public protocol PromptRepresentable: Sendable {
    var chunks: [ContentChunk] { get }
}

extension String: PromptRepresentable {
    public var chunks: [ContentChunk] { [.text(self)] }
}

extension StructuredContent: PromptRepresentable {
    public var chunks: [ContentChunk] { [.structured(self)] }
}

extension ImageContent: PromptRepresentable {
    public var chunks: [ContentChunk] { [.image(self)] }
}

extension Message: PromptRepresentable {}

extension SystemMessage: PromptRepresentable {
    public var role: Message.Role { .system }
}

extension UserMessage: PromptRepresentable {
    public var role: Message.Role { .user }
}

extension AIMessage: PromptRepresentable {
    public var role: Message.Role { .ai }
}

extension ToolOutput: PromptRepresentable {
    public var role: Message.Role { .toolOutput }
}
