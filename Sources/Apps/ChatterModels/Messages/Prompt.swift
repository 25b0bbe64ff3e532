/// A message that is put together from pieces.
public struct Prompt: PromptRepresentable, Hashable, Codable, ExpressibleByStringLiteral {
    public var chunks: [ContentChunk]

    public init(chunks: [ContentChunk]) {
        self.chunks = chunks
    }

    public init(_ text: String) {
        chunks = [.text(text)]
    }

    public init(stringLiteral text: String) {
        self.init(text)
    }

    /// Creates a prompt of the pieces that a closure lists; texts become lines.
    public init(@PromptBuilder _ content: () -> Prompt) {
        self = content()
    }
}
