import ChatterdBasics

/// A conversation with a model: it keeps the transcript, runs the tools, and makes typed values of answers.
///
/// One reply at a time. A reply that fails or is cancelled leaves the transcript as it was before its prompt, so that it can be repeated.
public actor Session {
    public nonisolated let model: any LLM
    public nonisolated let tools: [any Tool]
    /// The clock of snapshots.
    nonisolated let clock: SnapshotPace.Clock
    /// The messages, without the one that is being generated.
    private var complete: [Message]
    private var growing: GrowingMessage?
    private var isResponding = false
    /// The messages before a reply whose reader has left. The next use of the session returns to them.
    private nonisolated let abandoned = Lock<[Message]?>(nil)
    private var observers: [Int: AsyncStream<Transcript>.Continuation] = [:]
    private var pace: SnapshotPace
    private var lastObserver = 0

    /// Creates a session, or restores one from the messages of another.
    public init(model: any LLM, tools: [any Tool] = [], messages: [Message] = []) {
        self.init(model: model, tools: tools, messages: messages, clock: { .now })
    }

    /// Creates a session with the clock of its snapshots.
    init(model: any LLM, tools: [any Tool] = [], messages: [Message] = [], clock: @escaping SnapshotPace.Clock) {
        self.model = model
        self.tools = tools
        self.clock = clock
        complete = messages
        pace = SnapshotPace(clock)
    }

    /// Restores a session.
    public init(model: any LLM, tools: [any Tool] = [], transcript: Transcript) {
        self.init(model: model, tools: tools, messages: transcript.messages)
    }

    /// The messages so far; while a reply is under way, with its messages.
    public var transcript: Transcript {
        settle()
        return current
    }

    private var current: Transcript {
        var transcript = Transcript(messages: complete)
        transcript.growing = growing?.message
        return transcript
    }

    /// The messages that are complete.
    public var messages: [Message] {
        settle()
        return complete
    }

    /// The transcript whenever it changes, from now on; an observer that is slow gets the newest one. While a message of more than 8 KiB
    /// grows, it changes twenty times a second at most.
    public func transcripts() -> AsyncStream<Transcript> {
        let (stream, continuation) = AsyncStream.makeStream(of: Transcript.self, bufferingPolicy: .bufferingNewest(1))
        lastObserver += 1
        let id = lastObserver
        observers[id] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.removeObserver(id) }
        }
        continuation.yield(transcript)
        return stream
    }

    /// Prepares the model for a prompt that begins like this.
    public func prewarm(promptPrefix: (any PromptRepresentable)? = nil) async {
        var messages = messages
        if let promptPrefix {
            messages.append(.user(UserMessage(promptPrefix)))
        }
        await model.prewarm(GenerationRequest(transcript: messages, tools: tools.map(\.toolDescription)))
    }

    // MARK: - For replies

    /// Begins a reply.
    ///
    /// - Returns: the messages before, for `fail`.
    func begin(_ prompt: [Message]) throws(LLMError) -> [Message] {
        settle()
        guard !isResponding else { throw .busy }
        isResponding = true
        let before = complete
        change(to: before + prompt)
        return before
    }

    /// The model generates a piece of its message.
    func grow(_ event: GenerationEvent) {
        growing = growing ?? GrowingMessage()
        growing?.apply(event)
        guard !observers.isEmpty, pace.permits(growing?.text.utf8.count ?? 0) else { return }
        show()
        pace.restart()
    }

    func add(_ messages: [Message]) {
        change(to: complete + messages)
    }

    func end() {
        isResponding = false
    }

    func fail(restoring before: [Message]) {
        change(to: before)
        isResponding = false
    }

    /// The reader of the present reply has left. Safe on any thread.
    nonisolated func abandon(restoring before: [Message]) {
        abandoned.withLock { $0 = before }
        Task { await settle() }
    }

    private func settle() {
        if let before = abandoned.withLock({ $0.take() }) {
            fail(restoring: before)
        }
    }

    private func change(to messages: [Message]) {
        complete = messages
        growing = nil
        show()
    }

    private func show() {
        for observer in observers.values {
            observer.yield(current)
        }
    }

    private func removeObserver(_ id: Int) {
        observers[id] = nil
    }

    deinit {
        for observer in observers.values {
            observer.finish()
        }
    }
}

/// An event of a reply in a session. Snapshots of the value, pieces of the text, and what the tools do, in one stream.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum SessionEvent<Content: Generable>: Sendable {
    /// A piece of the text, of plain and of structured answers.
    case textDelta(String)
    /// A piece of what the model thinks.
    case reasoningDelta(String)
    /// The value so far.
    case snapshot(Content.Partial)
    /// The model calls a tool.
    case toolCall(ToolCall)
    /// A tool has answered.
    case toolOutput(ToolOutput)
    /// Why nothing comes at the moment.
    case waiting(Waiting)
    /// The message begins again: text, thinking and value of this message do not count.
    case reset
    /// The last event.
    case finished(LLMReply<Content>)
}
