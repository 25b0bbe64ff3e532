import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `/v1/messages`, and the same body for an estimate of its tokens.
struct AnthropicMessages: ChatTranslator {
    /// Whether the request asks for the number of its tokens, so that it needs no `max_tokens`.
    var isCount = false

    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model; `CHATTERD_DEFAULT_MODEL` without it")),
        DoorField("messages", .translated("the messages, [below](#messages)")),
        DoorField("system", .translated("a message of the system before the others; blocks of text are joined")),
        DoorField("stream", .translated("whether the answer is streamed; default `false`")),
        DoorField("max_tokens", .translated("`options.num_predict`; required")),
        DoorField("temperature", .option("temperature")),
        DoorField("top_p", .option("top_p")),
        DoorField("top_k", .option("top_k")),
        DoorField("stop_sequences", .option("stop")),
        DoorField(
            "tools", .translated("`tools`; a tool that Anthropic defines is ignored, as no other model can call it")),
        DoorField(
            "tool_choice",
            .translated("`tool_choice`; `disable_parallel_tool_use` is `parallel_tool_calls`")),
        DoorField("thinking", .translated("`think`; `budget_tokens` is the server's choice")),
        DoorField("output_config", .translated("`format` is `format`, `effort` is `think`")),
        DoorField("output_format", .translated("`format`")),
        DoorField("metadata", .translated("`user_id` is `user`")),
        DoorField("service_tier", .ignored("chatterd has none."), harmless: [#""auto""#, #""standard_only""#]),
        DoorField("container", .ignored("chatterd has no containers.")),
        DoorField("mcp_servers", .ignored("only responses can name a server."), harmless: ["[]"]),
        DoorField("context_management", .ignored("chatterd edits no messages."), harmless: [#"{"edits":[]}"#]),
        DoorField("thread", .refused("chatterd keeps no threads of messages: send the whole history.")),
        DoorField("inference_geo", .refused("the operator chooses the model servers.")),
        DoorField("cache_control", .translated("no effect: model servers recognise what they have read")),
    ]

    func request(_ body: [UInt8], _ policy: DoorPolicy) throws(RelayError) -> DoorRequest {
        var draft = try RequestDraft(body, Self.fields, others: .ignored, policy)
        let members = draft.body
        draft.stream = try members.boolean("stream") ?? false
        if let limit = members["max_tokens"] {
            guard let number = limit.wholeNumber, number > 0 else {
                throw .wrongType("max_tokens", "a whole number above 0")
            }
            draft.option("num_predict", Array(String(number).utf8))
        } else if !isCount {
            throw .invalid("max_tokens: Field required", "max_tokens")
        }
        try AnthropicContent.translate(into: &draft)
        try AnthropicTools.translate(into: &draft)
        try Self.translateThinking(members, into: &draft)
        if let format = try members.object("output_format") {
            try Self.translate(format: format, at: "output_format.", into: &draft)
        }
        if let metadata = try members.object("metadata") {
            try metadata.ignore(allBut: ["user_id"], in: "metadata.", as: &draft.ignored)
            if let user = metadata["user_id"] { draft.pass("user", user.json) }
        }
        var request = try DoorRequest(draft)
        request.estimatedTokens = request.chat.estimatedTokens
        return request
    }

    private static func translateThinking(_ members: DoorMembers, into draft: inout RequestDraft) throws(RelayError) {
        var think: [UInt8]?
        var effort: String?
        if let thinking = try members.object("thinking") {
            switch try thinking.string("type", in: "thinking.") {
            case "enabled", "adaptive": think = Array("true".utf8)
            case "disabled": think = Array("false".utf8)
            default: throw .unsupported("thinking.type", "use enabled, adaptive or disabled.")
            }
        }
        if let output = try members.object("output_config") {
            try output.ignore(allBut: ["format", "effort"], in: "output_config.", as: &draft.ignored)
            effort = try output.string("effort", in: "output_config.")
            if let effort, think != Array("false".utf8) {
                guard let word = OpenAIChat.think(forEffort: effort) else {
                    throw .unsupported("output_config.effort", OpenAIChat.efforts)
                }
                think = Array(word.utf8)
            }
            if let format = try output.object("format", in: "output_config.") {
                try translate(format: format, at: "output_config.format.", into: &draft)
            }
        }
        if let think { draft.think(think, askedIn: effort == nil ? "thinking" : "output_config.effort") }
    }

    private static func translate(
        format: DoorMembers, at path: String, into draft: inout RequestDraft
    ) throws(RelayError) {
        guard try format.string("type", in: path) == "json_schema", let schema = format["schema"] else {
            throw .unsupported(path + "type", "use json_schema with a schema.")
        }
        draft.pass("format", schema.json)
    }

    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder { AnthropicEventEncoder(context) }

    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer) {
        let end = answer.end
        let stop = AnthropicStop(answer.lastLine, isCut: end.isCut, hasCalls: !answer.toolCalls.isEmpty)
        body.appendJSON { json in
            json.object { json in
                json.member("id", "msg_\(context.reply)")
                json.member("type", "message")
                json.member("role", "assistant")
                json.member("model", context.model)
                json.array("content") { Self.write(answer, context, to: &$0) }
                json.member("stop_reason", stop.reason)
                json.member("stop_sequence", orNull: stop.sequence)
                json.object("usage") { usage in
                    Self.write(
                        input: context.inputTokens(counted: end.promptTokens), output: end.answerTokens, to: &usage)
                }
            }
        }
    }

    /// Writes the members of `usage`. Model servers do not say what they had in a cache.
    static func write(input: Int, output: Int, to usage: inout JSONWriter) {
        usage.member("input_tokens", input)
        usage.member("cache_creation_input_tokens", 0)
        usage.member("cache_read_input_tokens", 0)
        usage.member("output_tokens", output)
    }

    private static func write(_ answer: WholeAnswer, _ context: AnswerContext, to content: inout JSONWriter) {
        if !answer.thinking.isEmpty {
            content.object { json in
                json.member("type", "thinking")
                json.name("thinking")
                json.string(answer.thinking.bytes)
                json.member("signature", "")
            }
        }
        if !answer.text.isEmpty || answer.toolCalls.isEmpty && answer.thinking.isEmpty {
            content.object { json in
                json.member("type", "text")
                json.name("text")
                json.string(answer.text.bytes)
            }
        }
        var index = 0
        answer.forEachCall { call in
            content.object { json in
                json.member("type", "tool_use")
                json.name("id")
                json.raw { $0.append(idOf: call, at: index, in: context) }
                json.name("name")
                json.raw { $0.append(inside: call.name) }
                json.name("input")
                json.raw { $0.append(inputOf: call) }
            }
            index += 1
        }
    }
}

extension AnswerContext {
    /// The tokens of the prompt as the model server has counted them; the estimate if it has not.
    func inputTokens(counted: Int) -> Int { counted > 0 ? counted : estimatedTokens }
}

extension ByteBuffer {
    /// Appends the arguments of a call as an object. A text, which some models write, is its only member.
    mutating func append(inputOf call: borrowing AnswerToolCall) {
        let arguments = call.arguments
        if arguments.isEmpty {
            append("{}")
        } else if arguments[0] == UInt8(ascii: "{") {
            append(arguments)
        } else {
            append("{\"arguments\":")
            append(arguments)
            append("}")
        }
    }
}
