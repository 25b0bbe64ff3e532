import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// Writes the body of a request to an OpenAI `/chat/completions`, from messages in Ollama's shape.
struct OpenAIChatRequest {
    private var body: ChatRequestBody
    private var calls = ToolCallIDs()

    /// Starts a body with a capacity of `capacity` bytes of messages.
    init(model: String, capacity: Int) {
        body = ChatRequestBody(model: model, capacity: capacity + 384)
    }

    /// Appends messages that are JSON objects with commas between them.
    ///
    /// - Throws: `unsupported` if a message cannot be translated.
    mutating func append(encodedMessages json: Span<UInt8>) throws(ModelError) {
        var position = 0
        while position < json.count {
            do throws(JSONError) {
                let message = try OpenAIMessage(json, at: position)
                try body.appendMessage { buffer throws(JSONError) in
                    try message.append(from: json, to: &buffer, naming: &calls)
                }
                position = message.range.upperBound + 1
            } catch {
                throw .unsupported(
                    "messages", "because one of them has images or tool calls of an unknown form: \(error)")
            }
        }
    }

    /// Appends the text that the answer begins with, as a message of the assistant.
    mutating func append(beginning: Span<UInt8>) {
        body.append(role: "assistant".utf8.span, content: beginning)
    }

    /// Ends the body with further members.
    consuming func finish(_ members: [RawMember]) -> OutgoingBody {
        body.finish(stream: true, passThrough: members)
    }
}
