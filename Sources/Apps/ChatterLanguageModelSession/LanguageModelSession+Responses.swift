extension LanguageModelSession {
    // MARK: - Whole

    /// The reply to a prompt.
    ///
    /// - Throws: `GenerationError`, `ToolCallError`, `CancellationError`; `LLMError` for what FoundationModels has no name for.
    @discardableResult
    public func respond(
        to prompt: any PromptRepresentable, options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<String> {
        try await Response(text: ResponseCourse(self, prompt: prompt, options: options))
    }

    /// The reply to a prompt that is put together from pieces.
    @discardableResult
    public func respond(
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<String> {
        try await respond(to: prompt(), options: options)
    }

    /// The reply as a value of a type. `includeSchemaInPrompt` has no effect: the model's server decides how it uses the form.
    @discardableResult
    public func respond<Content: Generable>(
        to prompt: any PromptRepresentable, generating type: Content.Type = Content.self,
        includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<Content> {
        try await Response(ResponseCourse(self, prompt: prompt, options: options))
    }

    /// The reply to a prompt that is put together from pieces, as a value of a type.
    @discardableResult
    public func respond<Content: Generable>(
        generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<Content> {
        try await respond(to: prompt(), generating: type, options: options)
    }

    /// The reply in a form that is known at run time.
    @discardableResult
    public func respond(
        to prompt: any PromptRepresentable, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) async throws -> Response<GeneratedContent> {
        try await GeneratedContent.$requested.withValue(schema.schema) {
            try await Response(ResponseCourse(self, prompt: prompt, options: options, schema: schema.schema))
        }
    }

    /// The reply to a prompt that is put together from pieces, in a form that is known at run time.
    @discardableResult
    public func respond(
        schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) async throws -> Response<GeneratedContent> {
        try await respond(to: prompt(), schema: schema, options: options)
    }

    // MARK: - Streams

    /// The text so far of the reply to a prompt.
    public func streamResponse(
        to prompt: any PromptRepresentable, options: GenerationOptions = GenerationOptions()
    ) -> ResponseStream<String> {
        ResponseStream(text: ResponseCourse(self, prompt: prompt, options: options))
    }

    /// The text so far of the reply to a prompt that is put together from pieces.
    public func streamResponse(
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<String> {
        streamResponse(to: try prompt(), options: options)
    }

    /// The value so far of a reply as a value of a type.
    public func streamResponse<Content: Generable>(
        to prompt: any PromptRepresentable, generating type: Content.Type = Content.self,
        includeSchemaInPrompt: Bool = true, options: GenerationOptions = GenerationOptions()
    ) -> ResponseStream<Content> {
        ResponseStream(value: ResponseCourse(self, prompt: prompt, options: options))
    }

    /// The value so far of a reply to a prompt that is put together from pieces.
    public func streamResponse<Content: Generable>(
        generating type: Content.Type = Content.self, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<Content> {
        streamResponse(to: try prompt(), generating: type, options: options)
    }

    /// The value so far of a reply in a form that is known at run time.
    public func streamResponse(
        to prompt: any PromptRepresentable, schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions()
    ) -> ResponseStream<GeneratedContent> {
        GeneratedContent.$requested.withValue(schema.schema) {
            ResponseStream(value: ResponseCourse(self, prompt: prompt, options: options, schema: schema.schema))
        }
    }

    /// The value so far of a reply to a prompt that is put together from pieces, in a form that is known at run time.
    public func streamResponse(
        schema: GenerationSchema, includeSchemaInPrompt: Bool = true,
        options: GenerationOptions = GenerationOptions(), @PromptBuilder prompt: () throws -> Prompt
    ) rethrows -> ResponseStream<GeneratedContent> {
        streamResponse(to: try prompt(), schema: schema, options: options)
    }
}
