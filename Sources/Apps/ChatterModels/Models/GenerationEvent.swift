/// A piece of the message that a model generates.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum GenerationEvent: Sendable, Hashable {
    /// The name by which the model's server knows the message: `AIMessage.id`.
    case identified(String)
    case text(String)
    case reasoning(String)
    /// A whole call of a tool.
    case toolCall(ToolCall)
    /// The message begins again: what came before does not count.
    case reset
    /// Why nothing comes at the moment. It changes nothing of the message.
    case waiting(Waiting)
    /// The last event.
    case finished(GenerationEnd)
}

/// Why a model is silent.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum Waiting: Sendable, Hashable {
    /// The request is in the queue of a model server: its position, 1 for the next one, and the number of those that wait.
    case queued(position: Int, length: Int)
    /// The connection is lost, for this reason. The next attempt is made after the delay.
    case connectionLost(String, retryAfter: Duration)
    /// The connection is restored; the message continues where it was.
    case resumed
}
