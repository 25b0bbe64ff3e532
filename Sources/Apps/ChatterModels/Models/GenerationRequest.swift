/// A request for one message of a model.
public struct GenerationRequest: Sendable {
    /// All messages so far; the last one is of the user, or the output of a tool.
    public var transcript: [Message]
    /// The tools that the model may call.
    public var tools: [ToolDescription]
    /// The form of the answer, always an object; `nil` for text.
    public var schema: Schema?
    public var options: LLMReplyOptions

    public init(
        transcript: [Message], tools: [ToolDescription] = [], schema: Schema? = nil,
        options: LLMReplyOptions = LLMReplyOptions()
    ) {
        self.transcript = transcript
        self.tools = tools
        self.schema = schema
        self.options = options
    }
}
