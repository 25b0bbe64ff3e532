/// Instructions for the model.
public struct SystemMessage: Sendable, Hashable, Codable, ExpressibleByStringLiteral {
    public var chunks: [ContentChunk]

    public init(_ content: any PromptRepresentable) {
        chunks = content.chunks
    }

    public init(stringLiteral text: String) {
        chunks = [.text(text)]
    }
}
