/// What was said in a session: a collection of entries, which can be stored and restored.
public struct Transcript: Sendable, Hashable, RandomAccessCollection {
    /// A message of the conversation.
    public enum Entry: Sendable, Hashable, Identifiable {
        case instructions(Instructions)
        case prompt(Prompt)
        case toolCalls(ToolCalls)
        case toolOutput(ToolOutput)
        case response(Response)

        public var id: String {
            switch self {
            case .instructions(let part): part.id
            case .prompt(let part): part.id
            case .toolCalls(let part): part.id
            case .toolOutput(let part): part.id
            case .response(let part): part.id
            }
        }
    }

    /// A part of an entry.
    public enum Segment: Sendable, Hashable, Identifiable, CustomStringConvertible {
        case text(TextSegment)
        case structure(StructuredSegment)

        public var id: String {
            switch self {
            case .text(let part): part.id
            case .structure(let part): part.id
            }
        }

        public var description: String {
            switch self {
            case .text(let part): part.content
            case .structure(let part): part.content.jsonString
            }
        }
    }

    public struct TextSegment: Sendable, Hashable, Identifiable {
        public var id: String
        public var content: String

        public init(id: String = "0", content: String) {
            self.id = id
            self.content = content
        }
    }

    public struct StructuredSegment: Sendable, Hashable, Identifiable {
        public var id: String
        public var content: GeneratedContent

        public init(id: String = "0", content: GeneratedContent) {
            self.id = id
            self.content = content
        }
    }

    /// The text that the model got before the conversation.
    public struct Instructions: Sendable, Hashable, Identifiable {
        public var id: String
        public var segments: [Segment]

        public init(id: String = "0", segments: [Segment]) {
            self.id = id
            self.segments = segments
        }
    }

    /// What the user asked.
    public struct Prompt: Sendable, Hashable, Identifiable {
        public var id: String
        public var segments: [Segment]

        public init(id: String = "0", segments: [Segment]) {
            self.id = id
            self.segments = segments
        }
    }

    /// The model asks for results of tools.
    public struct ToolCalls: Sendable, Hashable, Identifiable, RandomAccessCollection {
        public var id: String
        private let calls: [ToolCall]

        public init(id: String = "0", _ calls: some Sequence<ToolCall>) {
            self.id = id
            self.calls = Array(calls)
        }

        public var startIndex: Int { 0 }
        public var endIndex: Int { calls.count }

        public subscript(position: Int) -> ToolCall { calls[position] }
    }

    public struct ToolCall: Sendable, Hashable, Identifiable {
        public var id: String
        public var toolName: String
        public var arguments: GeneratedContent

        public init(id: String, toolName: String, arguments: GeneratedContent) {
            self.id = id
            self.toolName = toolName
            self.arguments = arguments
        }
    }

    /// The result of a tool.
    public struct ToolOutput: Sendable, Hashable, Identifiable {
        /// The id of the call.
        public var id: String
        public var toolName: String
        public var segments: [Segment]

        public init(id: String, toolName: String, segments: [Segment]) {
            self.id = id
            self.toolName = toolName
            self.segments = segments
        }
    }

    /// What the model answered.
    public struct Response: Sendable, Hashable, Identifiable {
        public var id: String
        public var segments: [Segment]

        public init(id: String = "0", segments: [Segment]) {
            self.id = id
            self.segments = segments
        }
    }

    /// The messages, as ChatterModels has them.
    public let messages: [Message]

    public init(messages: [Message]) {
        self.messages = messages
    }

    /// Creates a transcript to begin a session with. Entries have no images and no thoughts of the model.
    public init(entries: some Sequence<Entry> = []) {
        messages = entries.map(\.message)
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { messages.count }

    public subscript(position: Int) -> Entry { Entry(messages[position], id: String(position)) }
}

extension Transcript: Codable {
    public init(from decoder: any Decoder) throws {
        messages = try ChatterModels.Transcript(from: decoder).messages
    }

    /// Encodes the messages, as a `Session` stores them.
    public func encode(to encoder: any Encoder) throws {
        try ChatterModels.Transcript(messages: messages).encode(to: encoder)
    }
}

extension Transcript.Entry {
    fileprivate init(_ message: Message, id: String) {
        switch message {
        case .system(let system): self = .instructions(.init(id: id, segments: system.chunks.segments))
        case .user(let user): self = .prompt(.init(id: id, segments: user.chunks.segments))
        case .toolOutput(let output):
            self = .toolOutput(.init(id: output.id, toolName: output.toolName, segments: output.chunks.segments))
        case .ai(let answer):
            let calls = answer.toolCalls.map {
                Transcript.ToolCall(
                    id: $0.id, toolName: $0.toolName, arguments: GeneratedContent(content: $0.arguments))
            }
            if calls.isEmpty {
                self = .response(.init(id: id, segments: answer.chunks.segments))
            } else {
                self = .toolCalls(.init(id: id, calls))
            }
        }
    }

    fileprivate var message: Message {
        switch self {
        case .instructions(let part): .system(SystemMessage(part.segments.prompt))
        case .prompt(let part): .user(UserMessage(part.segments.prompt))
        case .toolOutput(let part):
            .toolOutput(ToolOutput(id: part.id, toolName: part.toolName, part.segments.prompt))
        case .response(let part): .ai(AIMessage(part.segments.prompt))
        case .toolCalls(let calls):
            .ai(
                AIMessage(
                    toolCalls: calls.map {
                        ToolCall(id: $0.id, toolName: $0.toolName, arguments: $0.arguments.content)
                    }))
        }
    }
}

extension [ContentChunk] {
    fileprivate var segments: [Transcript.Segment] {
        enumerated().compactMap { index, chunk in
            switch chunk {
            case .text(let text): .text(.init(id: String(index), content: text))
            case .structured(let content):
                .structure(.init(id: String(index), content: GeneratedContent(content: content)))
            default: nil
            }
        }
    }
}

extension [Transcript.Segment] {
    fileprivate var prompt: Prompt {
        Prompt(
            chunks: map { segment in
                switch segment {
                case .text(let part): .text(part.content)
                case .structure(let part): .structured(part.content.content)
                }
            })
    }
}
