import ChatterdBasics

/// A conversation with a model: it keeps the transcript, runs the tools, and makes typed values of answers.
///
/// One reply at a time. A reply that fails or is cancelled leaves the transcript as it was before its prompt, so that it can be repeated.
public actor Session {
    public nonisolated let model: any LLM
    public nonisolated let tools: [any Tool]
    private var current: Transcript
    private var isResponding = false
    /// The transcript before a reply whose reader has left. The next use of the session returns to it.
    private nonisolated let abandoned = Lock<Transcript?>(nil)
    private var observers: [Int: AsyncStream<Transcript>.Continuation] = [:]
    private var lastObserver = 0

    /// Creates a session, or restores one from the messages of another.
    public init(model: any LLM, tools: [any Tool] = [], messages: [Message] = []) {
        self.model = model
        self.tools = tools
        current = Transcript(messages: messages)
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

    /// The messages that are complete.
    public var messages: [Message] { transcript.messages }

    /// The transcript whenever it changes, from now on; an observer that is slow gets the newest one.
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
    /// - Returns: the transcript before, for `fail`.
    func begin(_ prompt: [Message]) throws(LLMError) -> Transcript {
        settle()
        guard !isResponding else { throw .busy }
        isResponding = true
        let before = current
        change { $0.messages += prompt }
        return before
    }

    func grow(to message: AIMessage) {
        change { $0.growing = message }
    }

    func add(_ messages: [Message]) {
        change {
            $0.growing = nil
            $0.messages += messages
        }
    }

    func end() {
        isResponding = false
    }

    func fail(restoring before: Transcript) {
        change { $0 = before }
        isResponding = false
    }

    /// The reader of the present reply has left. Safe on any thread.
    nonisolated func abandon(restoring before: Transcript) {
        abandoned.withLock { $0 = before }
        Task { await settle() }
    }

    private func settle() {
        if let before = abandoned.withLock({ $0.take() }) {
            fail(restoring: before)
        }
    }

    private func change(_ body: (inout Transcript) -> Void) {
        body(&current)
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
    /// The message begins again: text, thinking and value of this message do not count.
    case reset
    /// The last event.
    case finished(LLMReply<Content>)
}
