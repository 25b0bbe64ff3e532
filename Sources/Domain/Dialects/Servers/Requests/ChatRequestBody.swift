import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// Writes the body of a request to Ollama's `/api/chat`, and the common parts of one to OpenAI's `/chat/completions`: a model,
/// messages, `stream` and further members.
struct ChatRequestBody {
    private var body = OutgoingBody()
    /// The last part.
    private var buffer: ByteBuffer
    private var isFirst = true

    /// Starts a body with a capacity of `capacity` bytes of messages and members.
    init(model: String, capacity: Int = 0) {
        buffer = ByteBuffer(capacity: capacity + 128)
        buffer.append("{\"model\":")
        buffer.append(jsonString: model)
        buffer.append(",\"messages\":[")
    }

    /// Appends the message that `write` appends, or several with commas between them.
    mutating func appendMessage<Failure: Error>(
        _ write: (inout ByteBuffer) throws(Failure) -> Void
    ) throws(Failure) {
        if !isFirst {
            buffer.append(UInt8(ascii: ","))
        }
        isFirst = false
        try write(&buffer)
    }

    /// Appends a message from UTF-8 as a store delivers it; `extras` as in `ModelMessage`, or empty.
    mutating func append(role: Span<UInt8>, content: Span<UInt8>, extras: Span<UInt8> = Span()) {
        appendMessage { $0.append(messageWithRole: role, content: content, extras: extras) }
    }

    /// Appends the messages of a conversation, and shares their bytes.
    mutating func append(sharing messages: EncodedConversation) {
        guard !messages.isEmpty else { return }
        appendMessage { _ in }
        body.append(SharedBytes(buffer))
        buffer = ByteBuffer()
        for part in messages.parts {
            body.append(part)
        }
    }

    /// Ends the body.
    consuming func finish(stream: Bool, passThrough members: [RawMember] = []) -> OutgoingBody {
        buffer.append(stream ? "],\"stream\":true" : "],\"stream\":false")
        if !members.isEmpty {
            buffer.append(UInt8(ascii: ","))
            buffer.append(members)
        }
        buffer.append(UInt8(ascii: "}"))
        body.append(SharedBytes(buffer))
        return body
    }
}
