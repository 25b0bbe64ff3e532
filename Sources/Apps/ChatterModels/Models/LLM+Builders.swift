extension LLM {
    /// The value so far of the reply to messages, the last one of the user as a rule.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        to messages: [Message], returning type: Content.Type = String.self, tools: [any Tool] = [],
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        Session(model: self, tools: tools).replyStream(adding: messages, returning: type, options: options)
    }

    // MARK: - Prompts that are put together from pieces

    /// The value so far of the reply to a prompt that is put together from pieces.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        returning type: Content.Type = String.self, tools: [any Tool] = [], options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: prompt(), returning: type, tools: tools, options: options)
    }

    /// The reply in a session to a prompt that is put together from pieces.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        returning type: Content.Type = String.self, in session: Session, options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: prompt(), returning: type, in: session, options: options)
    }

    /// The value so far of a reply in a session to a prompt that is put together from pieces.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        returning type: Content.Type = String.self, in session: Session, options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: prompt(), returning: type, in: session, options: options)
    }

    // MARK: - Tools before the type

    // Without these, the compiler reports no reason for arguments in the other order.

    /// The reply to a prompt alone.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        to prompt: any PromptRepresentable, tools: [any Tool], returning type: Content.Type,
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: prompt, returning: type, tools: tools, options: options)
    }

    /// The reply to messages, the last one of the user as a rule.
    @_disfavoredOverload
    public func reply<Content: Generable>(
        to messages: [Message], tools: [any Tool], returning type: Content.Type, options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: messages, returning: type, tools: tools, options: options)
    }

    /// The value so far of the reply to a prompt alone.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, tools: [any Tool], returning type: Content.Type,
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: prompt, returning: type, tools: tools, options: options)
    }

    /// The value so far of the reply to messages, the last one of the user as a rule.
    @_disfavoredOverload
    public func replyStream<Content: Generable>(
        to messages: [Message], tools: [any Tool], returning type: Content.Type, options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: messages, returning: type, tools: tools, options: options)
    }
}
