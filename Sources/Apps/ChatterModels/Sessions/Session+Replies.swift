extension Session {
    /// All events of a reply: pieces, values so far, tools, the end. The work begins with the first element that is awaited; a reader who
    /// leaves cancels it.
    ///
    /// - Throws: `LLMError`, in the iteration.
    public nonisolated func events<Content: Generable>(
        replyingTo prompt: any PromptRepresentable, returning type: Content.Type = String.self,
        options: LLMReplyOptions = .default
    ) -> AsyncThrowingStream<SessionEvent<Content>, any Error> {
        let course = ReplyCourse<Content>(self, prompt: [.user(UserMessage(prompt))], options: options)
        return AsyncThrowingStream { try await course.next() }
    }

    /// The value so far, whenever it has grown.
    public nonisolated func replyStream<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self,
        options: LLMReplyOptions = .default
    ) -> AsyncThrowingStream<Content.Partial, any Error> {
        snapshots(of: ReplyCourse<Content>(self, prompt: [.user(UserMessage(prompt))], options: options))
    }

    /// The whole reply.
    public nonisolated func reply<Content: Generable>(
        to prompt: any PromptRepresentable, returning type: Content.Type = String.self,
        options: LLMReplyOptions = .default
    ) async throws(LLMError) -> LLMReply<Content> {
        try await reply(adding: [.user(UserMessage(prompt))], returning: type, options: options)
    }

    /// The whole reply to messages that are added to the transcript.
    nonisolated func reply<Content: Generable>(
        adding messages: [Message], returning type: Content.Type, options: LLMReplyOptions
    ) async throws(LLMError) -> LLMReply<Content> {
        let course = ReplyCourse<Content>(self, prompt: messages, options: options)
        while let event = try await course.next() {
            if case .finished(let reply) = event { return reply }
        }
        throw .cancelled
    }

    /// The value so far of the reply to messages that are added to the transcript.
    nonisolated func replyStream<Content: Generable>(
        adding messages: [Message], returning type: Content.Type, options: LLMReplyOptions
    ) -> AsyncThrowingStream<Content.Partial, any Error> {
        snapshots(of: ReplyCourse<Content>(self, prompt: messages, options: options))
    }

    nonisolated func snapshots<Content: Generable>(
        of course: ReplyCourse<Content>
    ) -> AsyncThrowingStream<Content.Partial, any Error> {
        AsyncThrowingStream {
            while let event = try await course.next() {
                if case .snapshot(let partial) = event { return partial }
            }
            return nil
        }
    }
}
