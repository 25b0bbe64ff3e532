/// A message of a transcript.
#if hasAttribute(nonexhaustive)
    @nonexhaustive(warn)
#endif
public enum Message: Sendable, Hashable {
    case system(SystemMessage)
    case user(UserMessage)
    case ai(AIMessage)
    case toolOutput(ToolOutput)

    /// Who speaks.
    public enum Role: String, Sendable, Hashable, Codable {
        case system, user, ai, toolOutput
    }

    public var role: Role {
        switch self {
        case .system: .system
        case .user: .user
        case .ai: .ai
        case .toolOutput: .toolOutput
        }
    }

    public var chunks: [ContentChunk] {
        switch self {
        case .system(let message): message.chunks
        case .user(let message): message.chunks
        case .ai(let message): message.chunks
        case .toolOutput(let output): output.chunks
        }
    }

    /// The text of all pieces.
    public var text: String { chunks.text }
}

extension [ContentChunk] {
    /// The text of all pieces.
    public var text: String { map(\.text).joined() }

    /// The images among the pieces.
    var images: [ImageContent] {
        compactMap { if case .image(let image) = $0 { image } else { nil } }
    }
}

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
