import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `/api/generate`: a prompt without a conversation. It becomes a chat, so that a server of any kind can answer, unless it has members
/// that only Ollama understands.
struct OllamaGenerate: ChatTranslator {
    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model; `CHATTERD_DEFAULT_MODEL` without it")),
        DoorField("prompt", .translated("a message of the user; an empty one is passed on, and loads the model")),
        DoorField("system", .translated("a message of the system before it, unless empty")),
        DoorField("images", .translated("`images` of the message")),
        DoorField("stream", .translated("whether the answer is streamed; default `true`")),
        DoorField("suffix", .translated("passed on to an Ollama, unless empty")),
        DoorField("template", .translated("passed on to an Ollama, unless empty")),
        DoorField("context", .translated("passed on to an Ollama, unless empty")),
        DoorField("raw", .translated("passed on to an Ollama, unless `false`")),
        DoorField("options", .passed), DoorField("format", .passed), DoorField("think", .passed),
        DoorField("keep_alive", .passed), DoorField("truncate", .passed), DoorField("shift", .passed),
        DoorField("logprobs", .passed, note: "only the lines of a stream have them"),
        DoorField("top_logprobs", .passed, note: "only the lines of a stream have them"),
        DoorField("_debug_render_only", .refused("ask the model server itself."), harmless: ["false"]),
    ]

    func request(_ body: [UInt8], _ policy: DoorPolicy) throws(RelayError) -> DoorRequest {
        guard !body.isEmpty else { throw .invalid("missing request body") }
        var draft = try RequestDraft(body, Self.fields, others: .passed, policy)
        let members = draft.body
        draft.stream = try members.boolean("stream") ?? true
        if let system = try members.string("system"), !system.isEmpty {
            draft.messages.append(ModelMessage(role: "system", content: system))
        }
        var prompt = MessageBuilder("user")
        prompt.text = try members.string("prompt") ?? ""
        for (index, value) in (try members.array("images") ?? []).enumerated() {
            guard let image = value.string else { throw .wrongType("images[\(index)]", "a string") }
            try prompt.add(imageURL: image, in: "images[\(index)]")
        }
        let isEmpty = prompt.isEmpty
        draft.messages.append(prompt.build())
        var request = try DoorRequest(draft)
        let isOllamas = try Self.isOllamas(members)
        request.isRemembered = false
        request.isPassed = isEmpty || isOllamas
        if isEmpty, !isOllamas { request.loadAnswer = #""response":"""# }
        return request
    }

    /// Whether the request has members that only Ollama understands.
    private static func isOllamas(_ members: DoorMembers) throws(RelayError) -> Bool {
        for name in ["suffix", "template"] where try members.string(name)?.isEmpty == false { return true }
        if let context = members["context"] { return context.elements()?.isEmpty != true }
        return try members.boolean("raw") == true
    }

    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder { OllamaResponseEncoder() }

    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer) {
        body.append(generated: answer.lastLine.span) { body in
            body.append(jsonString: answer.text.bytes)
            if !answer.thinking.isEmpty {
                body.append(",\"thinking\":")
                body.append(jsonString: answer.thinking.bytes)
            }
            if !answer.toolCalls.isEmpty {
                body.append(",\"tool_calls\":[")
                body.append(answer.toolCalls)
                body.append("]")
            }
        }
    }
}
