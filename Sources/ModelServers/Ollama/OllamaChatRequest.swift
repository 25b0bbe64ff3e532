import ChatterdBasics
import ChatterdLanguageModels

/// Writes the body of a request to Ollama's `/api/chat`, message by message.
public struct OllamaChatRequest: Sendable {
    private var body: ByteBuffer
    private var isFirst = true

    /// Starts a body with room for `capacity` bytes of messages and members.
    public init(model: String, capacity: Int = 0) {
        body = ByteBuffer(capacity: capacity + 128)
        body.append("{\"model\":")
        body.append(jsonString: model)
        body.append(",\"messages\":[")
    }

    /// Adds a message.
    public mutating func append(_ message: ModelMessage) {
        separate()
        body.append(message)
    }

    /// Adds a message from UTF-8 as a store delivers it; `extras` as in `ModelMessage`, or empty.
    public mutating func append(role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8>) {
        separate()
        body.append(messageWithRole: role, content: content, extras: extras)
    }

    /// Adds messages that are JSON objects already, with commas between them; nothing if there are none.
    public mutating func append(encodedMessages: Span<UInt8>) {
        if encodedMessages.isEmpty { return }
        separate()
        body.append(encodedMessages)
    }

    /// Ends the body, and hands it over.
    public consuming func finish(stream: Bool, passThrough: [RawMember] = []) -> ByteBuffer {
        body.append(stream ? "],\"stream\":true" : "],\"stream\":false")
        for member in passThrough {
            body.append(UInt8(ascii: ","))
            body.append(jsonString: member.key)
            body.append(UInt8(ascii: ":"))
            body.append(member.value)
        }
        body.append(UInt8(ascii: "}"))
        return body
    }

    private mutating func separate() {
        if !isFirst {
            body.append(UInt8(ascii: ","))
        }
        isFirst = false
    }
}
