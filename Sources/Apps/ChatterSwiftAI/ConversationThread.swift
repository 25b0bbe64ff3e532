import ChatterModels

/// A conversation: `Session`.
public typealias ConversationThread = Session

/// The thread of a model without conversations. Each model of this library has them, so nothing makes one.
public final class NullConversationThread: Sendable {
    private init() {}
}

extension LLM {
    /// A conversation with this model: `makeSession(tools:messages:)`.
    public func makeConversationThread(tools: [any Tool] = [], messages: [any Message] = []) -> ConversationThread {
        makeSession(tools: tools, messages: messages.map(\.message))
    }

    /// A conversation with this model, with instructions: `makeSession(tools:instructions:)`.
    public func makeConversationThread(
        tools: [any Tool] = [], @PromptBuilder instructions: () -> Prompt
    ) -> ConversationThread {
        makeSession(tools: tools, instructions: instructions)
    }
}
