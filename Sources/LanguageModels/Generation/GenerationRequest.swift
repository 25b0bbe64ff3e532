import ChatterdBasics

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
