import ChatterdBasics

/// One message of a conversation, in the form of Ollama's `/api/chat`.
public struct ModelMessage: Sendable, Equatable {
    /// The role: `system`, `user`, `assistant`, `tool`, or another one that the model knows.
    public var role: String

    /// The text; may be empty beside tool calls or images.
    public var content: String

    /// Further members as JSON text, without braces: `"images":["…"],"tool_calls":[…]`.
    public var extras: String?

    public init(role: String, content: String, extras: String? = nil) {
        self.role = role
        self.content = content
        self.extras = extras
    }
}

extension ByteBuffer {
    /// Appends a message as a JSON object.
    public mutating func append(_ message: ModelMessage) {
        let extras = message.extras ?? ""
        append(
            messageWithRole: message.role.utf8.span, content: message.content.utf8.span, extras: extras.utf8.span)
    }

    /// Appends a message as a JSON object, from UTF-8 as a store delivers it.
    ///
    /// `extras` are further members as JSON text, without braces; empty if there are none.
    public mutating func append(messageWithRole role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8>) {
        append("{\"role\":")
        append(jsonString: role)
        append(",\"content\":")
        append(jsonString: content)
        if !extras.isEmpty {
            append(UInt8(ascii: ","))
            append(extras)
        }
        append(UInt8(ascii: "}"))
    }
}
