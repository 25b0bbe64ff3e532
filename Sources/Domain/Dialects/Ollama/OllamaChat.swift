import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `/api/chat`.
struct OllamaChat: ChatTranslator {
    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model; `CHATTERD_DEFAULT_MODEL` without it")),
        DoorField("messages", .translated("the messages, [below](#messages); without any, the request is passed on")),
        DoorField("stream", .translated("whether the answer is streamed; default `true`")),
        DoorField("options", .passed), DoorField("format", .passed), DoorField("tools", .passed),
        DoorField("think", .passed), DoorField("keep_alive", .passed), DoorField("truncate", .passed),
        DoorField("shift", .passed),
        DoorField("logprobs", .passed, note: "only the lines of a stream have them"),
        DoorField("top_logprobs", .passed, note: "only the lines of a stream have them"),
        DoorField("_debug_render_only", .refused("ask the model server itself."), harmless: ["false"]),
    ]

    func request(_ body: [UInt8], _ policy: DoorPolicy) throws(RelayError) -> DoorRequest {
        guard !body.isEmpty else { throw .invalid("missing request body") }
        var draft = try RequestDraft(body, Self.fields, others: .passed, policy)
        draft.stream = try draft.body.boolean("stream") ?? true
        draft.messages = try Self.messages(draft.body)
        var request = try DoorRequest(draft)
        // Without messages the model is loaded, or unloaded.
        request.isPassed = request.chat.messages.isEmpty
        if request.isPassed { request.loadAnswer = #""message":{"role":"assistant","content":""}"# }
        return request
    }

    private static func messages(_ body: DoorMembers) throws(RelayError) -> [ModelMessage] {
        var messages: [ModelMessage] = []
        for (index, value) in (try body.array("messages", atMost: ChatRequest.maximumMessages) ?? []).enumerated() {
            let path = "messages[\(index)]."
            guard let message = value.members() else { throw .wrongType("messages[\(index)]", "an object") }
            messages.append(try translate(message, in: path))
        }
        return messages
    }

    private static func translate(_ message: DoorMembers, in path: String) throws(RelayError) -> ModelMessage {
        guard let role = try message.string("role", in: path) else {
            throw .invalid("\(path)role is missing.", "\(path)role")
        }
        var builder = MessageBuilder(role.lowercased())
        builder.text = try message.string("content", in: path) ?? ""
        builder.thinking = try message.string("thinking", in: path) ?? ""
        for (index, value) in (try message.array("images", in: path) ?? []).enumerated() {
            guard let image = value.string else { throw .wrongType("\(path)images[\(index)]", "a string") }
            try builder.add(imageURL: image, in: "\(path)images[\(index)]")
        }
        for (index, value) in (try message.array("tool_calls", in: path) ?? []).enumerated() {
            let path = "\(path)tool_calls[\(index)]"
            guard let call = value.members(), let function = try call.object("function", in: path + "."),
                let name = try function.string("name", in: path + ".function.")
            else { throw .unsupported(path, "a call needs function.name.") }
            builder.add(
                call: try call.string("id", in: path + "."), name: name,
                arguments: try function.arguments(in: path + ".function."))
        }
        builder.toolName = try message.string("tool_name", in: path)
        builder.callID = try message.string("tool_call_id", in: path)
        return builder.build()
    }

    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder { OllamaLineEncoder() }

    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer) {
        let line = answer.lastLine.span
        guard let parts = AnswerParts(line), let message = parts.message else { return }
        body.append(line.extracting(first: message.lowerBound))
        body.appendJSON { json in
            json.object { json in
                json.member("role", "assistant")
                json.name("content")
                json.string(answer.text.bytes)
                if !answer.thinking.isEmpty {
                    json.name("thinking")
                    json.string(answer.thinking.bytes)
                }
                if !answer.toolCalls.isEmpty {
                    json.name("tool_calls")
                    json.raw { buffer in
                        buffer.append("[")
                        buffer.append(answer.toolCalls)
                        buffer.append("]")
                    }
                }
            }
        }
        body.append(line.extracting(message.upperBound...))
    }
}
