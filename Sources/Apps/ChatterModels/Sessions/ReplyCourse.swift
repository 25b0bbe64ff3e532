/// The course of one reply in a session: requests to the model, with the calls of tools between them. It is pulled by its reader.
actor ReplyCourse<Content: Generable> {
    private enum Phase: Sendable {
        case idle
        /// The next request can be made.
        case ready
        case generating
        case tools([ToolCall])
        case over
    }

    /// The second prompt of a typed reply with tools, for a model that cannot do both in one request.
    private static var requestForValue: String { "Give this answer as JSON in the requested form." }

    private let session: Session
    private let prompt: [Message]
    private let options: LLMReplyOptions
    private let form = AnswerForm<Content>()
    private var phase = Phase.idle
    /// The transcript before the prompt.
    private var before: Transcript?
    private var stream: AsyncThrowingStream<GenerationEvent, any Error>?
    private var message = AIMessage()
    private var text = ""
    private var parser = IncrementalJSON()
    /// Whether the text is JSON so far.
    private var isJSON = true
    private var rounds = 0
    /// Whether the model has answered in its own words, and is asked for the value now.
    private var asksForValue = false
    private var usage: Usage? = Usage(promptTokens: 0, answerTokens: 0)
    private var events: ArraySlice<SessionEvent<Content>> = []

    init(_ session: Session, prompt: [Message], options: LLMReplyOptions) {
        self.session = session
        self.prompt = prompt
        self.options = options
    }

    deinit {
        // The reader has left before the end.
        if case .over = phase { return }
        if let before {
            session.abandon(restoring: before)
        }
    }

    private var isOver: Bool {
        if case .over = phase { true } else { false }
    }

    /// The next event; `nil` after the last one.
    func next() async throws(LLMError) -> SessionEvent<Content>? {
        while true {
            if let event = events.popFirst() { return event }
            if isOver { return nil }
            do throws(LLMError) {
                if Task.isCancelled { throw .cancelled }
                try await advance()
            } catch {
                stream = nil
                if let before {
                    await session.fail(restoring: before)
                }
                phase = .over
                throw error
            }
        }
    }

    private func advance() async throws(LLMError) {
        switch phase {
        case .idle:
            before = try await session.begin(prompt)
            phase = .ready
        case .ready:
            let request = GenerationRequest(
                transcript: await session.messages, tools: asksForValue ? [] : session.tools.map(\.toolDescription),
                schema: answersFirst ? nil : form.schema, options: options)
            (message, text, parser, isJSON) = (AIMessage(), "", IncrementalJSON(), true)
            stream = session.model.events(for: request)
            phase = .generating
        case .generating:
            guard let event = try await nextEvent() else {
                throw Task.isCancelled ? .cancelled : .connectionLost("The model ended without the end of its message.")
            }
            try await apply(event)
        case .tools(let calls):
            rounds += 1
            guard rounds <= options.maximumToolRounds else { throw .tooManyToolRounds(options.maximumToolRounds) }
            let outputs = try await ToolRound(tools: session.tools, failure: options.toolFailure).run(calls)
            await session.add(outputs.map { .toolOutput($0) })
            events += outputs.map { .toolOutput($0) }
            phase = .ready
        case .over: break
        }
    }

    /// Whether the request is one with tools that comes before the one for the value.
    private var answersFirst: Bool {
        form.schema != nil && !session.tools.isEmpty && !session.model.generatesSchemasWithTools && !asksForValue
    }

    private func nextEvent() async throws(LLMError) -> GenerationEvent? {
        do {
            return try await stream?.nextElement()
        } catch let error as LLMError {
            throw error
        } catch {
            throw .cancelled
        }
    }

    private func apply(_ event: GenerationEvent) async throws(LLMError) {
        switch event {
        case .identified(let id): message.id = id
        case .text(let piece):
            text += piece
            events.append(.textDelta(piece))
            appendSnapshot(after: piece)
            await showGrowth()
        case .reasoning(let piece):
            message.reasoning += piece
            events.append(.reasoningDelta(piece))
            await showGrowth()
        case .toolCall(let call):
            message.chunks.append(.toolCall(call))
            events.append(.toolCall(call))
            await showGrowth()
        case .reset:
            (message, text, parser, isJSON) = (AIMessage(id: message.id), "", IncrementalJSON(), true)
            events.append(.reset)
            await showGrowth()
        case .finished(let end): try await finish(end)
        }
    }

    /// The message so far.
    private var grown: AIMessage {
        var message = message
        if !text.isEmpty { message.chunks.insert(.text(text), at: 0) }
        return message
    }

    private func showGrowth() async {
        await session.grow(to: grown)
    }

    private func appendSnapshot(after piece: String) {
        if let partial = form.partial(of: text) {
            events.append(.snapshot(partial))
        } else if form.schema != nil, isJSON {
            // What is not JSON is reported at the end; a message with calls of tools may have other text.
            isJSON = (try? parser.receive(piece.utf8)) != nil
            if isJSON, let partial = form.partial(of: parser) {
                events.append(.snapshot(partial))
            }
        }
    }

    private func finish(_ end: GenerationEnd) async throws(LLMError) {
        stream = nil
        usage = usage.flatMap { sum in end.usage.map { sum + $0 } }
        let message = grown
        guard message.toolCalls.isEmpty else {
            await session.add([.ai(message)])
            phase = .tools(message.toolCalls)
            return
        }
        switch end.reason {
        case .stop, .toolCalls: break
        case .stopped: throw .cancelled
        // A text is useful without its end; a value is not.
        case .length, .contentFilter: if form.schema != nil { throw .incomplete(end.reason) }
        }
        let content: Content
        do throws(LLMError) {
            content = try form.content(of: text)
        } catch {
            guard answersFirst else { throw error }
            asksForValue = true
            await session.add([.ai(message), .user(UserMessage(Self.requestForValue))])
            events.append(.reset)
            phase = .ready
            return
        }
        await session.add([.ai(message)])
        events.append(
            .finished(
                LLMReply(
                    content: content, history: await session.messages, reason: end.reason, model: end.model,
                    usage: usage)))
        await session.end()
        phase = .over
    }
}
