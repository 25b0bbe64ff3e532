// swift-format-ignore-file
import ChatterSwiftAI

enum Block12 {
    /// A name that the proposal leaves open.
    protocol PromptRepresentable {
        var chunks: [ContentChunk] { get }
    }

// Printed:
protocol Message: Sendable, Equatable {
  var role: Role { get }
  var chunks: [ContentChunk] { get }
}

enum Role {
  case system, user, ai, toolOutput
}

enum ContentChunk: Sendable, Equatable {
  case text(String)
  case structured(json: String)
}

struct AIMessage: PromptRepresentable, Equatable, Sendable {
  let chunks: [ContentChunk]
  let toolCalls: [ToolCall]
}

struct ToolCall: Sendable, Equatable {
  let id: String
  let toolName: String
  let arguments: StructuredContent
}
// End.
}

extension Block12 {
    /// The printed message of a message of the library.
    struct Copy: Message {
        let role: Role
        let chunks: [ContentChunk]

        init(_ message: any ChatterSwiftAI.Message) {
            switch message.role {
            case .system: role = .system
            case .user: role = .user
            case .ai: role = .ai
            case .toolOutput: role = .toolOutput
            }
            chunks = message.chunks.map {
                switch $0 {
                case .structured(let content): .structured(json: content.json)
                default: .text($0.text)
                }
            }
        }
    }

    /// The library's piece of a printed one.
    static func piece(_ chunk: ContentChunk) -> ChatterSwiftAI.ContentChunk {
        switch chunk {
        case .text(let text): .text(text)
        case .structured(let json): .structured(json: json)
        }
    }

    /// The printed message of the model of the library's.
    static func copy(_ message: ChatterSwiftAI.AIMessage) -> AIMessage {
        AIMessage(
            chunks: Copy(message).chunks,
            toolCalls: message.toolCalls.map { ToolCall(id: $0.id, toolName: $0.toolName, arguments: $0.arguments) })
    }
}

/// Copies messages of the library into the printed types and back; returns what is the same.
package func runBlock12(_ messages: [any Message]) -> (roles: [String], pieces: [ContentChunk]) {
    let copies = messages.map(Block12.Copy.init)
    return (copies.map { "\($0.role)" }, copies.flatMap(\.chunks).map(Block12.piece))
}

/// The names of the tools that a message of the model calls, by its printed form.
package func toolsOfBlock12(_ message: AIMessage) -> [String] { Block12.copy(message).toolCalls.map(\.toolName) }
