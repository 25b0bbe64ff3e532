import ChatterdBasics
import ChatterdLanguageModels

/// Writes the body of a request to an OpenAI `/chat/completions`, from messages in Ollama's shape.
struct OpenAIChatRequest {
    private var body: ByteBuffer
    private var isFirst = true
    private var calls = OpenAICallNames()

    /// Starts a body with room for `capacity` bytes of messages.
    init(model: String, capacity: Int) {
        body = ByteBuffer(capacity: capacity + 512)
        body.append("{\"model\":")
        body.append(jsonString: model)
        body.append(",\"messages\":[")
    }

    /// Adds messages that are JSON objects, with commas between them.
    mutating func append(encodedMessages json: Span<UInt8>) {
        var position = 0
        while position < json.count {
            // The encoder is ours, so what does not read is not there.
            guard let message = try? OpenAIMessage(json, at: position) else { return }
            separate()
            message.append(from: json, to: &body, naming: &calls)
            position = message.range.upperBound + 1
        }
    }

    /// Adds the beginning of the answer, which the model is to go on with.
    mutating func append(beginning: Span<UInt8>) {
        separate()
        body.append(messageWithRole: "assistant".utf8.span, content: beginning, extras: "".utf8.span)
    }

    /// Ends the body, and hands it over.
    consuming func finish(_ members: [RawMember]) -> ByteBuffer {
        body.append("],\"stream\":true,")
        body.append(members)
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
