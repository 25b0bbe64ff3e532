import ChatterModels

/// One of the four kinds of messages, and the enumeration of ChatterModels that holds one of them.
///
/// No type of an app conforms: `message` says which of the four kinds it is.
public protocol Message: PromptRepresentable, Equatable {
    /// Who speaks.
    var role: Role { get }

    /// The message as an element of a transcript.
    var message: ChatterModels.Message { get }
}

extension ChatterModels.Message: Message {
    public var message: ChatterModels.Message { self }
}

extension SystemMessage: Message {
    public var message: ChatterModels.Message { .system(self) }
}

extension UserMessage: Message {
    public var message: ChatterModels.Message { .user(self) }
}

extension AIMessage: Message {
    public var message: ChatterModels.Message { .ai(self) }
}

extension ToolOutput: Message {
    public var message: ChatterModels.Message { .toolOutput(self) }
}

extension ContentChunk {
    /// A structured piece, by its JSON; a text that is not JSON is a piece of text.
    public static func structured(json: String) -> ContentChunk {
        guard let content = try? StructuredContent(json: json) else { return .text(json) }
        return .structured(content)
    }
}
