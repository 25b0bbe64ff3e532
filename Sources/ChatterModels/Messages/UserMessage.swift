/// A message to the model.
public struct UserMessage: Sendable, Hashable, Codable, ExpressibleByStringLiteral {
    public var chunks: [ContentChunk]

    public init(_ content: any PromptRepresentable) {
        chunks = content.chunks
    }

    public init(stringLiteral text: String) {
        chunks = [.text(text)]
    }
}
