// A wrong call gets its reason from the compiler only if no two forms fit it equally well ("failed to produce diagnostic" otherwise). So
// there are few forms: a prompt and messages are one parameter, and each further form is disfavoured or more specific.
extension LLM {
    // MARK: - Without a session

    /// The reply to a prompt alone, or to messages, the last one of the user as a rule.
    ///
    ///     let reply = try await llm.reply(to: "Write a haiku about Berlin.")
    public func reply<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        let session = Session(model: self, tools: tools)
        let messages = [Message](prompt: prompt)
        let reply = try await session.reply(adding: messages, returning: type, options: options)
        for case .ai(let message) in reply.history.dropFirst(messages.count) {
            await forget(message)
        }
        return reply
    }

    /// The reply to messages that are written in the call: `[.system("Be brief."), .user("Hello")]`.
    public func reply<Content: Generable>(
        to messages: [Message], returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: messages as any PromptRepresentable, returning: type, tools: tools, options: options)
    }

    /// The reply to a prompt alone, or to messages: the tools before the type.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        to prompt: any PromptRepresentable, tools: [any Tool], returning type: Content.Type,
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: prompt, returning: type, tools: tools, options: options)
    }

    /// The reply to a prompt that is put together from pieces.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        returning type: Content.Type = String.self, tools: [any Tool] = [], options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: prompt(), returning: type, tools: tools, options: options)
    }

    // MARK: - Streams without a session

    /// The value so far of the reply to a prompt alone, or to messages, the last one of the user as a rule.
    public func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        Session(model: self, tools: tools).replyStream(to: prompt, returning: type, options: options)
    }

    /// The value so far of the reply to messages that are written in the call.
    public func replyStream<Content: Generable>(
        to messages: [Message], returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: messages as any PromptRepresentable, returning: type, tools: tools, options: options)
    }

    /// The value so far of the reply to a prompt alone, or to messages: the tools before the type.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, tools: [any Tool], returning type: Content.Type,
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: prompt, returning: type, tools: tools, options: options)
    }

    /// The value so far of the reply to a prompt that is put together from pieces.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        returning type: Content.Type = String.self, tools: [any Tool] = [], options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: prompt(), returning: type, tools: tools, options: options)
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
