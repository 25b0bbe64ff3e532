/// An event of a reply in a session. Snapshots of the value, pieces of the text, and what the tools do, in one stream.
public enum SessionEvent<Content: Generable>: Sendable {
    /// A piece of the text, of plain and of structured answers.
    case textDelta(String)
    /// A piece of what the model thinks.
    case reasoningDelta(String)
    /// The value so far.
    case snapshot(Content.Partial)
    /// The model calls a tool.
    case toolCall(ToolCall)
    /// A tool has answered.
    case toolOutput(ToolOutput)
    /// The message begins again: text, thinking and value of this message do not count.
    case reset
    /// The last event.
    case finished(LLMReply<Content>)
}
