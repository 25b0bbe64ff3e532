/// A value that can be part of a message, or a list of messages.
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

extension Array: PromptRepresentable where Element: PromptRepresentable {
    /// The array as one piece if it has a schema, as `[Int]` has; otherwise the pieces of its elements.
    public var chunks: [ContentChunk] {
        if let value = self as? any Generable { [.structured(value.generableContent)] } else { flatMap(\.chunks) }
    }
}

extension [Message] {
    /// The messages of a prompt: one of the user, unless the prompt is messages already.
    init(prompt: any PromptRepresentable) {
        self = prompt as? [Message] ?? [.user(UserMessage(prompt))]
    }
}
