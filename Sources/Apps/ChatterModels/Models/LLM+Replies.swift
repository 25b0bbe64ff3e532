// The forms beside the first one are disfavoured, which changes no valid call: of several forms that fit a wrong call equally well, the
// compiler names no reason at all ("failed to produce diagnostic").
extension LLM {
    // MARK: - Without a session

    /// The reply to a prompt alone.
    ///
    ///     let reply = try await llm.reply(to: "Write a haiku about Berlin.")
    public func reply<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: [.user(UserMessage(prompt))], returning: type, tools: tools, options: options)
    }

    /// The reply to messages, the last one of the user as a rule.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        to messages: [Message], returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        let session = Session(model: self, tools: tools)
        let reply = try await session.reply(adding: messages, returning: type, options: options)
        for case .ai(let message) in reply.history.dropFirst(messages.count) {
            await forget(message)
        }
        return reply
    }

    /// The reply to a prompt that is put together from pieces.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        returning type: Content.Type = String.self, tools: [any Tool] = [], options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: prompt(), returning: type, tools: tools, options: options)
    }

    /// The value so far of the reply to a prompt alone.
    public func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        Session(model: self, tools: tools).replyStream(to: prompt, returning: type, options: options)
    }

    // MARK: - With a session

    /// A conversation with this model.
    public func makeSession(tools: [any Tool] = [], messages: [Message] = []) -> Session {
        Session(model: self, tools: tools, messages: messages)
    }

    /// A conversation with this model, with instructions.
    ///
    ///     let session = llm.makeSession { "You are a helpful assistant. Always be polite." }
    public func makeSession(tools: [any Tool] = [], @PromptBuilder instructions: () -> Prompt) -> Session {
        Session(model: self, tools: tools, messages: [.system(SystemMessage(instructions()))])
    }

    /// The reply in a session, which may be of another model: the session's one answers.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self, in session: Session,
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await session.reply(to: prompt, returning: type, options: options)
    }

    /// The value so far of a reply in a session.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self, in session: Session,
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        session.replyStream(to: prompt, returning: type, options: options)
    }
}

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

    /// Creates a reply: models of sessions are `LLM`s, so this is for tests and previews of an app's own functions.
    public init(
        content: Content, history: [Message] = [], reason: GenerationEnd.Reason = .stop, model: String? = nil,
        usage: Usage? = nil
    ) {
        self.content = content
        self.history = history
        self.reason = reason
        self.model = model
        self.usage = usage
    }
}
