/// An event of an answer. The texts since the last `reset`, joined, are the stored text, over any number of connections.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum ReplyEvent: Sendable, Hashable {
    /// The server has stored the prompt; the reply has this id from now on.
    case started(ReplyID)
    /// A piece of the answer.
    case text(String)
    /// A piece of the model's thinking.
    case thinking(String)
    /// The model calls tools.
    case toolCalls([ToolCall])
    /// A call of a tool that runs on the server is new, or has another state. After a lost connection all calls come again.
    case step(ToolStep)
    /// The reply waits for a model server.
    case queued(QueuePosition)
    /// The answer begins again: drop its text, its thinking and its tool calls.
    case reset
    /// The connection is lost. The client tries again after the delay; the next event says that it has resumed.
    case connectionLost(ChatterError, retryAfter: Duration)
    /// The answer continues where it was.
    case resumed
    /// The answer is complete, or was stopped, and stored. The last event.
    case finished(ReplyStatistics)
}
