/// A piece of the message that a model generates.
public enum GenerationEvent: Sendable, Hashable {
    /// The name by which the model's server knows the message: `AIMessage.id`.
    case identified(String)
    case text(String)
    case reasoning(String)
    /// A whole call of a tool.
    case toolCall(ToolCall)
    /// The message begins again: what came before does not count.
    case reset
    /// The last event.
    case finished(GenerationEnd)
}
