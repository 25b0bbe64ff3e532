import ChatterdBasics
import ChatterdTracing

/// A request to a model for an answer.
public struct GenerationRequest: Sendable {
    /// The model's name, as its server knows it.
    public var model: String
    /// The conversation, oldest message first, the prompt last.
    public var messages: EncodedConversation
    /// The client's further members of the request (`options`, `format`, `think`, `tools` ...), passed on as they came.
    public var passThrough: [RawMember]
    /// The text that the answer begins with, from an earlier attempt. The model continues after it and does not repeat it.
    public var beginning: [UInt8] = []
    /// How the server is asked to continue the `beginning`.
    public var continuation = UpstreamDescription.Continuation.none
    /// Whether the answer replaces one that was cut. Its reader is waiting, so the silence timeout also limits the first byte.
    public var isRecovery = false
    /// The context length, prompt and answer together, in tokens, for servers that need it in the request; `nil` if unknown.
    public var contextLength: Int?
    /// The span of the request, for the model server; `nil` without a trace.
    public var trace: TraceContext?

    public init(model: String, messages: EncodedConversation, passThrough: [RawMember] = []) {
        self.model = model
        self.messages = messages
        self.passThrough = passThrough
    }
}
