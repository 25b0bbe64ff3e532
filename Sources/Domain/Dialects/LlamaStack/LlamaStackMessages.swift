import ChatterdBasics
import ChatterdChat

/// Translates the messages of a conversation for Llama Stack.
///
/// Messages of its assistant have a stop reason, and messages of its tools the id of a call; missing ids are generated. The
/// reasoning of a model is not sent.
struct LlamaStackMessages {
    /// The calls of the assistant's last message.
    private var calls = ToolCallIDs()

    /// Writes messages: JSON objects with commas between them, as `EncodedConversation` has them in each run.
    ///
    /// - Throws: `unsupported` for a role that Llama Stack does not have, or a message that cannot be read.
    mutating func write(_ messages: Span<UInt8>, to array: inout JSONWriter) throws(ModelError) {
        var start = 0
        while start < messages.count {
            let message: LlamaStackMessage
            do throws(JSONError) {
                message = try LlamaStackMessage(in: messages, from: &start)
            } catch {
                throw .llamaStack("messages", "that cannot be read: \(error)")
            }
            guard ["system", "user", "assistant", "tool"].contains(message.role) else {
                throw .llamaStack("role", "\"\(message.role)\"")
            }
            write(message, in: messages, to: &array)
        }
    }

    private mutating func write(_ message: LlamaStackMessage, in text: Span<UInt8>, to array: inout JSONWriter) {
        array.object { object in
            object.member("role", message.role)
            switch message.role {
            case "tool":
                let id = calls.id(ofResult: Array(message.callID.utf8), name: Array(message.toolName.utf8)).id
                object.member("call_id", String(decoding: id, as: UTF8.self))
            case "assistant":
                object.member("stop_reason", message.calls.isEmpty ? "end_of_turn" : "end_of_message")
                write(message.calls, to: &object)
            default:
                break
            }
            object.name("content")
            if message.images.isEmpty {
                object.string(inside: text.extracting(message.content))
            } else {
                object.array { Self.write(partsOf: message, in: text, to: &$0) }
            }
        }
    }

    private static func write(partsOf message: LlamaStackMessage, in text: Span<UInt8>, to parts: inout JSONWriter) {
        for image in message.images {
            parts.object { part in
                part.member("type", "image")
                part.object("image") { $0.member("data", inside: text.extracting(image)) }
            }
        }
        parts.object { part in
            part.member("type", "text")
            part.member("text", inside: text.extracting(message.content))
        }
    }

    private mutating func write(_ calls: [LlamaStackCall], to message: inout JSONWriter) {
        self.calls.removeAll()
        guard !calls.isEmpty else { return }
        message.array("tool_calls") { array in
            for call in calls {
                let id = self.calls.id(ofCall: Array(call.id.utf8), name: Array(call.name.utf8))
                array.object { object in
                    object.member("call_id", String(decoding: id, as: UTF8.self))
                    object.member("tool_name", call.name)
                    object.member("arguments", raw: call.arguments.span)
                    object.name("arguments_json")
                    object.string(call.arguments.span)
                }
            }
        }
    }
}
