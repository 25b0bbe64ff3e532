/// The answer of a model, with what belongs to it.
public struct LLMReply<Content: Sendable>: Sendable {
    public var content: Content
    /// All messages, with those of this reply.
    public var history: [Message]
    /// Why the model ended.
    public var reason: GenerationEnd.Reason
    /// The model that answered, as its server names it.
    public var model: String?
    /// The tokens of all requests of this reply; `nil` if a server did not count.
    public var usage: Usage?
}
