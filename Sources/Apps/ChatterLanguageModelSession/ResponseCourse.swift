import ChatterdBasics

/// The course of one reply: it keeps the state of the session up to date, and names errors as FoundationModels does.
actor ResponseCourse<Content: Generable> {
    private let session: LanguageModelSession
    private let schema: Schema?
    private let pull: () async throws -> SessionEvent<Content>?
    /// The number of messages before the prompt; `nil` before the reply has begun.
    private var before: Int?
    private var result: Result<LLMReply<Content>, any Error>?
    private let turn = ReaderTurn()

    /// - Parameter schema: the form of the answer, if `Content` is `GeneratedContent`.
    init(
        _ session: LanguageModelSession, prompt: any PromptRepresentable, options: GenerationOptions,
        schema: Schema? = nil
    ) {
        self.session = session
        self.schema = schema
        let events = session.session.events(
            replyingTo: prompt, returning: Content.self, options: options.replyOptions)
        var iterator = events.makeAsyncIterator()
        pull = { try await iterator.next() }
    }

    deinit {
        if before != nil, result == nil { session.leave() }
    }

    /// The next event; `nil` after the last one. Each event goes to one reader; an error goes to all of them.
    func next() async throws -> SessionEvent<Content>? {
        await turn.take()
        defer { turn.leave() }
        if let result {
            _ = try result.get()
            return nil
        }
        let isFirst = before == nil
        if isFirst {
            session.begin()
            before = await session.session.messages.count
        }
        do {
            let event = try await GeneratedContent.$requested.withValue(schema) { try await pull() }
            switch event {
            case .finished(let reply):
                session.show(reply.history)
                session.end()
                result = .success(reply)
            case .toolCall, .toolOutput: session.show(await session.session.messages)
            case nil: throw CancellationError()
            default: if isFirst { session.show(await session.session.messages) }
            }
            return event
        } catch {
            let named = named(error)
            result = .failure(named)
            session.show(await session.session.messages)
            session.end()
            throw named
        }
    }

    private func named(_ error: any Error) -> any Error {
        if let failure = session.failures.first.withLock({ $0 }), case .toolFailed? = error as? LLMError {
            return failure
        }
        return (error as? LLMError).map(LanguageModelSession.error) ?? error
    }

    /// The whole reply, and the entries of the transcript that it added.
    func reply() async throws -> (LLMReply<Content>, ArraySlice<Transcript.Entry>) {
        while try await next() != nil {}
        guard let reply = try result?.get() else { throw CancellationError() }
        return (reply, Array(Transcript(messages: reply.history)).dropFirst(before ?? 0))
    }
}

/// Lets the readers of one stream await its events in turn. Confined to the actor that owns it.
final class ReaderTurn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Waits until no other reader awaits an event.
    func take(isolation: isolated any Actor = #isolation) async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation(isolation: isolation) { waiting.append($0) }
    }

    /// Lets the reader that has waited longest continue.
    func leave() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// A value with the JSON of which it was made.
struct Answer<Content: Generable>: Generable {
    struct Partial: PartialValue {
        let content: Content.Partial
        let raw: StructuredContent

        init?(partial content: StructuredContent) {
            guard let value = Content.Partial(partial: content) else { return nil }
            self.content = value
            raw = content
        }
    }

    let content: Content
    let raw: StructuredContent

    static var schema: Schema { Content.schema }

    init(from content: StructuredContent) throws {
        self.content = try Content(from: content)
        raw = content
    }

    var generableContent: StructuredContent { raw }
}
