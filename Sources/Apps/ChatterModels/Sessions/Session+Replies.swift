extension Session {
    /// All events of a reply: pieces, values so far, tools, the end. The work begins with the first element that is awaited; a reader who
    /// leaves cancels it.
    ///
    /// - Throws: `LLMError`, in the iteration.
    public nonisolated func events<Content: Generable>(
        replyingTo prompt: any PromptRepresentable, returning type: Content.Type = String.self,
        options: LLMReplyOptions = .default
    ) -> ReplyStream<SessionEvent<Content>> {
        let course = ReplyCourse<Content>(self, prompt: [Message](prompt: prompt), options: options)
        return ReplyStream { () async throws(LLMError) in try await course.next() }
    }

    /// The value so far, whenever it has grown. Of an answer of more than 8 KiB, there are at most twenty snapshots a second, and the last.
    ///
    /// - Throws: `LLMError`, in the iteration.
    public nonisolated func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self,
        options: LLMReplyOptions = .default
    ) -> ReplyStream<Content.Partial> {
        replyStream(adding: [Message](prompt: prompt), returning: type, options: options)
    }

    /// The whole reply.
    public nonisolated func reply<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self,
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(adding: [Message](prompt: prompt), returning: type, options: options)
    }

    /// The value so far of the reply to a prompt that is put together from pieces.
    @_disfavoredOverload
    public nonisolated func replyStream<Content: Generable>(
        returning type: Content.Type = String.self, options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) -> ReplyStream<Content.Partial> {
        replyStream(to: prompt(), returning: type, options: options)
    }

    /// The whole reply to a prompt that is put together from pieces.
    @_disfavoredOverload
    public nonisolated func reply<Content: Generable>(
        returning type: Content.Type = String.self, options: LLMReplyOptions = .default,
        @PromptBuilder to prompt: () -> Prompt
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(to: prompt(), returning: type, options: options)
    }

    /// The whole reply to messages that are added to the transcript.
    nonisolated func reply<Content: Generable>(
        adding messages: [Message], returning type: Content.Type, options: LLMReplyOptions
    ) async throws(LLMError) -> LLMReply<Content> {
        let course = ReplyCourse<Content>(self, prompt: messages, options: options, showsValue: false)
        while let event = try await course.next() {
            if case .finished(let reply) = event { return reply }
        }
        throw .cancelled
    }

    /// The value so far of the reply to messages that are added to the transcript.
    nonisolated func replyStream<Content: Generable>(
        adding messages: [Message], returning type: Content.Type, options: LLMReplyOptions
    ) -> ReplyStream<Content.Partial> {
        let course = ReplyCourse<Content>(self, prompt: messages, options: options)
        return ReplyStream { () async throws(LLMError) in
            while let event = try await course.next() {
                if case .snapshot(let partial) = event { return partial }
            }
            return nil
        }
    }
}
