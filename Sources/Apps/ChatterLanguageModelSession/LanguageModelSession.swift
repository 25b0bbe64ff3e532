import ChatterdBasics
public import Observation

/// A conversation with a model, with the names of FoundationModels: a `Session` whose state can be read without `await`, and is observable.
///
/// One reply at a time. A reply that fails or is cancelled leaves the transcript as it was before its prompt.
public final class LanguageModelSession: Sendable, Observable {
    private struct State {
        var transcript: Transcript
        /// Replies that are under way. A second one fails at once.
        var replies = 0
        /// Replies that have begun.
        var begun = 0
    }

    /// The session behind this one.
    public let session: Session
    let failures = ToolFailures()
    private let state: Lock<State>
    private let registrar = ObservationRegistrar()

    /// Creates a session.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [],
        instructions: (any InstructionsRepresentable)? = nil
    ) {
        self.init(llm: model.llm, tools: tools, messages: instructions.map { [.system(SystemMessage($0))] } ?? [])
    }

    /// Creates a session with instructions that are put together from pieces.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [],
        @InstructionsBuilder instructions: () throws -> Instructions
    ) rethrows {
        self.init(llm: model.llm, tools: tools, messages: [.system(SystemMessage(try instructions()))])
    }

    /// Restores a session.
    public convenience init(
        model: SystemLanguageModel = .default, tools: [any Tool] = [], transcript: Transcript
    ) {
        self.init(llm: model.llm, tools: tools, messages: transcript.messages)
    }

    /// Creates a session with any model.
    public convenience init(
        model: any LLM, tools: [any Tool] = [], instructions: (any InstructionsRepresentable)? = nil
    ) {
        self.init(model: SystemLanguageModel(model), tools: tools, instructions: instructions)
    }

    /// Creates a session with any model, and instructions that are put together from pieces.
    public convenience init(
        model: any LLM, tools: [any Tool] = [], @InstructionsBuilder instructions: () throws -> Instructions
    ) rethrows {
        try self.init(model: SystemLanguageModel(model), tools: tools, instructions: instructions)
    }

    /// Restores a session with any model.
    public convenience init(model: any LLM, tools: [any Tool] = [], transcript: Transcript) {
        self.init(model: SystemLanguageModel(model), tools: tools, transcript: transcript)
    }

    private init(llm: any LLM, tools: [any Tool], messages: [Message]) {
        let failures = failures
        func watched(_ tool: some Tool) -> any Tool { WatchedTool(base: tool, failures: failures) }
        session = Session(model: llm, tools: tools.map { watched($0) }, messages: messages)
        state = Lock(State(transcript: Transcript(messages: messages)))
    }

    /// What was said. While a reply is under way, with its prompt and its tools; without the message that grows.
    public var transcript: Transcript {
        registrar.access(self, keyPath: \.transcript)
        return state.withLock { $0.transcript }
    }

    /// Whether a reply is under way.
    public var isResponding: Bool {
        registrar.access(self, keyPath: \.isResponding)
        return state.withLock { $0.replies > 0 }
    }

    /// Prepares the model for a prompt that begins like this, in a task of its own.
    public func prewarm(promptPrefix: Prompt? = nil) {
        let session = session
        Task { await session.prewarm(promptPrefix: promptPrefix) }
    }

    // MARK: - For replies

    /// A reply begins.
    func begin() {
        failures.first.withLock { $0 = nil }
        registrar.withMutation(of: self, keyPath: \.isResponding) {
            state.withLock {
                $0.replies += 1
                $0.begun += 1
            }
        }
    }

    func show(_ messages: [Message]) {
        registrar.withMutation(of: self, keyPath: \.transcript) {
            state.withLock { $0.transcript = Transcript(messages: messages) }
        }
    }

    func end() {
        registrar.withMutation(of: self, keyPath: \.isResponding) {
            state.withLock { $0.replies -= 1 }
        }
    }

    /// The reader of a reply has left before its end. A reply that has begun meanwhile shows the transcript itself.
    func leave() {
        end()
        let begun = state.withLock { $0.begun }
        Task {
            let messages = await session.messages
            registrar.withMutation(of: self, keyPath: \.transcript) {
                state.withLock {
                    if $0.begun == begun { $0.transcript = Transcript(messages: messages) }
                }
            }
        }
    }
}

/// The tool of the present reply that has failed first.
final class ToolFailures: Sendable {
    let first = Lock<LanguageModelSession.ToolCallError?>(nil)
}
