/// A model: it executes requests. A `Session` keeps the transcript.
///
/// A new kind of model needs `events(for:)` only. Everything else, sessions, tools and typed answers, works with each model.
public protocol LLM: Sendable {
    /// A name for people: `llama3.2`.
    var name: String { get }

    /// Whether the model can answer now. This may ask its server.
    var availability: Availability { get async }

    /// Whether the model can both constrain its answer to a schema and call tools in one request. If not, a session asks for the value
    /// after the tools, in a request of its own.
    var generatesSchemasWithTools: Bool { get }

    /// Generates one message. The work begins with the first element that is awaited, and ends with the iteration.
    ///
    /// The last event is `finished`. Errors are `LLMError`.
    func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error>

    /// Prepares the model for a request that begins like this.
    func prewarm(_ request: GenerationRequest) async

    /// A call to the model alone, without a session, is over: what its server keeps of it is not needed.
    func forget(_ message: AIMessage) async
}

extension LLM {
    public var generatesSchemasWithTools: Bool { false }

    public func prewarm(_ request: GenerationRequest) async {}

    public func forget(_ message: AIMessage) async {}

    /// Whether the model can answer now.
    public var isAvailable: Bool {
        get async { await availability == .available }
    }
}
