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
    /// Whether the reader wants the value so far.
    private let showsValue: Bool
    private var phase = Phase.idle
    /// The messages before the prompt.
    private var before: [Message]?
    private var stream: AsyncThrowingStream<GenerationEvent, any Error>?
    private var growing = GrowingMessage()
    /// The value of the text; `nil` once the text is not JSON.
    private var json: AnswerJSON? = AnswerJSON()
    private var pace: SnapshotPace
    /// Whether the last snapshot has all of the text.
    private var isShown = true
    private var rounds = 0
    /// Whether the model has answered in its own words, and is asked for the value now.
    private var asksForValue = false
    private var usage: Usage? = Usage(promptTokens: 0, answerTokens: 0)
    private var events: ArraySlice<SessionEvent<Content>> = []

    init(_ session: Session, prompt: [Message], options: LLMReplyOptions, showsValue: Bool = true) {
        self.session = session
        self.prompt = prompt
        self.options = options
        self.showsValue = showsValue
        pace = SnapshotPace(session.clock)
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
                if case .generating = phase, isShown { pace.restart() }
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
            (growing, json, isShown) = (GrowingMessage(), AnswerJSON(), true)
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
        if case .finished(let end) = event { return try await finish(end) }
        growing.apply(event)
        if case .waiting = event {} else { await session.grow(event) }
        switch event {
        case .text(let piece):
            events.append(.textDelta(piece))
            if form.schema != nil, showsValue {
                // What is not JSON is reported at the end; a message with calls of tools may have other text.
                if (try? json?.receive(piece)) == nil { json = nil }
            }
            isShown = false
            if pace.permits(growing.text.utf8.count) { showValue() }
        case .reasoning(let piece): events.append(.reasoningDelta(piece))
        case .toolCall(let call): events.append(.toolCall(call))
        case .waiting(let reason): events.append(.waiting(reason))
        case .reset:
            (json, isShown) = (AnswerJSON(), true)
            events.append(.reset)
        case .identified, .finished: break
        }
    }

    /// Adds the value so far to the events, unless it is there.
    private func showValue() {
        guard showsValue, !isShown else { return }
        isShown = true
        let partial = form.partial(of: growing.text) ?? json.flatMap(form.partial)
        if let partial { events.append(.snapshot(partial)) }
    }

    private func finish(_ end: GenerationEnd) async throws(LLMError) {
        stream = nil
        usage = usage.flatMap { sum in end.usage.map { sum + $0 } }
        showValue()
        let message = growing.message
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
        // The words of some servers mean a complete message.
        default: break
        }
        let content: Content
        do throws(LLMError) {
            content = try form.content(of: growing.text)
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
