import Bytes

/// A model server, or what stands in for one, as a shard sees it. Confined to its shard.
///
/// Whatever it speaks on the wire, its answer arrives at the consumer as lines in the shape of Ollama's `/api/chat`.
public protocol LanguageModel: AnyObject, Sendable {
    /// Starts an answer; the consumer hears of it on the shard, never before this call has returned.
    func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation
    /// Asks for its models.
    func listModels() async throws(ModelError) -> [ModelDescription]
}

/// What a model is asked.
public struct GenerationRequest: Sendable {
    /// The model's name, as its server knows it.
    public var model: String
    /// The conversation, oldest message first, the prompt last.
    public var messages: EncodedMessages
    /// The client's further members of the request (`options`, `format`, `think`, `tools` ...), passed on as they came.
    public var passThrough: [RawMember]
    /// The text that the answer begins with, already made: the model goes on behind it, and does not say it again.
    public var beginning: [UInt8] = []
    /// How a model that has a `beginning` is made to go on.
    public var continuation = UpstreamDescription.Continuation.none
    /// Whether the answer replaces one that broke off. Its reader is waiting, so the silence timeout also limits the first byte.
    public var isRecovery = false
    /// The tokens that prompt and answer may take together, for servers that want to be told; nothing when unknown.
    public var contextLength: Int?

    /// Makes a request.
    public init(model: String, messages: EncodedMessages, passThrough: [RawMember] = []) {
        self.model = model
        self.messages = messages
        self.passThrough = passThrough
    }
}

/// An answer that is being made. Confined to its shard.
public protocol Generation: AnyObject {
    /// Ends it: the model server is told by the close of the connection, and the consumer hears nothing more.
    func cancel()
    /// Holds it back while its reader is slow.
    func pause()
    /// Goes on after `pause`.
    func resume()
}

/// Whoever receives an answer; all calls come on the shard.
public protocol GenerationConsumer: AnyObject {
    /// One line of the answer, a JSON object of Ollama's shape without its line end, in UTF-8 and free of NUL.
    ///
    /// - Parameters:
    ///   - line: lent for the duration of the call.
    ///   - fields: where the members of interest stand in the line.
    func generation(_ generation: any Generation, line: Span<UInt8>, fields: OllamaLine)
    /// The answer is over: complete after a line with `"done":true`, or for the reason given. Called once.
    func generationEnded(_ generation: any Generation, error: ModelError?)
}

/// The limits of one answer.
public struct GenerationLimits: Sendable, Equatable {
    /// How long the model server may take to its first byte: it may have to load the model, and queues by itself.
    public var firstByte: Duration = .seconds(300)
    /// How long it may be silent in the middle of an answer.
    public var silence: Duration = .seconds(60)
    /// How long the whole answer may take.
    public var total: Duration = .seconds(1800)
    /// How long the rest is awaited once the answer is whole: its token counts, and the end of the body.
    public var rest: Duration = .seconds(2)
    /// The longest line, in bytes.
    public var line = 1 << 20
    /// The longest answer, in bytes of all its lines' texts.
    public var answer = 16 << 20

    /// Makes the limits with their defaults.
    public init() {}
}
