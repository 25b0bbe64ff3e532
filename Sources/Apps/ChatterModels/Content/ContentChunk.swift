/// A piece of a message.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum ContentChunk: Sendable, Hashable {
    case text(String)
    case structured(StructuredContent)
    case image(ImageContent)
    /// The model calls a tool; only in messages of the model.
    case toolCall(ToolCall)

    /// The piece as text: of a structured value its JSON; empty for an image and a tool call.
    public var text: String {
        switch self {
        case .text(let text): text
        case .structured(let content): content.json
        case .image, .toolCall: ""
        }
    }
}
