import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `/v1/chat/completions`.
struct OpenAIChat: ChatTranslator {
    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model; `CHATTERD_DEFAULT_MODEL` without it")),
        DoorField("messages", .translated("the messages, [below](#messages)")),
        DoorField("stream", .translated("whether the answer is streamed; default `false`")),
        DoorField("stream_options", .translated("`include_usage`; its other members are ignored")),
        DoorField("max_tokens", .translated("`options.num_predict`, unless there is `max_completion_tokens`")),
        DoorField("max_completion_tokens", .translated("`options.num_predict`")),
        DoorField("temperature", .option("temperature")),
        DoorField("top_p", .option("top_p")),
        DoorField("seed", .option("seed")),
        DoorField("presence_penalty", .option("presence_penalty")),
        DoorField("frequency_penalty", .option("frequency_penalty")),
        DoorField("stop", .translated("`options.stop`")),
        DoorField("tools", .translated("`tools`; an empty list, or `tool_choice` `none`, is none")),
        DoorField("tool_choice", .translated("passed, unless it is `auto` or `none`")),
        DoorField("response_format", .translated("`format`, and `response_format` for servers of kind `openai`")),
        DoorField(
            "reasoning_effort", .translated("`think`, and `reasoning_effort` for servers of kind `openai`")),
        DoorField("n", .refused("ask several times for several answers."), harmless: ["1"]),
        DoorField("logprobs", .refused("answers have no probabilities here."), harmless: ["false"]),
        DoorField("top_logprobs", .refused("answers have no probabilities here."), harmless: ["0"]),
        DoorField("modalities", .refused("answers are text."), harmless: [#"["text"]"#]),
        DoorField("audio", .ignored("answers are text.")),
        DoorField("functions", .refused("use tools.")),
        DoorField("function_call", .refused("use tool_choice."), harmless: [#""none""#, #""auto""#]),
        DoorField("web_search_options", .ignored("chatterd has no web search.")),
        DoorField("logit_bias", .passed), DoorField("metadata", .passed), DoorField("parallel_tool_calls", .passed),
        DoorField("prediction", .passed), DoorField("prompt_cache_key", .passed),
        DoorField("prompt_cache_retention", .passed), DoorField("safety_identifier", .passed),
        DoorField("service_tier", .passed), DoorField("store", .passed), DoorField("user", .passed),
        DoorField("verbosity", .passed),
    ]

    func request(_ body: [UInt8], _ policy: DoorPolicy) throws(RelayError) -> DoorRequest {
        var draft = try RequestDraft(body, Self.fields, others: .passed, policy)
        let members = draft.body
        draft.stream = try members.boolean("stream") ?? false
        try OpenAIMessages.translate(into: &draft)
        try draft.limitAnswer(by: members["max_completion_tokens"] == nil ? "max_tokens" : "max_completion_tokens")
        draft.stop(at: members["stop"])
        try Self.translateTools(members, into: &draft)
        try Self.translateFormat(members, into: &draft)
        try Self.translateEffort(members, into: &draft)
        let options = try members.object("stream_options")
        try draft.ignore(allBut: ["include_usage"], ofStreamOptions: options)
        let includesUsage = try options?.boolean("include_usage", in: "stream_options.") ?? false
        var request = try DoorRequest(draft)
        request.includesUsage = includesUsage
        return request
    }

    private static func translateTools(_ members: DoorMembers, into draft: inout RequestDraft) throws(RelayError) {
        let choice = members["tool_choice"]
        // A choice means nothing without tools; Apple's client sends both.
        guard let tools = try members.array("tools", atMost: 1_024), !tools.isEmpty, choice?.string != "none",
            let value = members["tools"]
        else { return }
        draft.pass("tools", value.json)
        if let choice, choice.string != "auto" {
            draft.pass("tool_choice", choice.json)
        }
    }

    private static func translateFormat(_ members: DoorMembers, into draft: inout RequestDraft) throws(RelayError) {
        guard let format = try members.object("response_format"), let value = members["response_format"] else { return }
        switch try format.string("type", in: "response_format.") {
        case "text": return
        case "json_object": draft.pass("format", Array("\"json\"".utf8))
        case "json_schema":
            let schema = try format.object("json_schema", in: "response_format.")
            guard let schema = schema?["schema"] else {
                throw .invalid(
                    "response_format.json_schema.schema is missing.", "response_format.json_schema.schema")
            }
            draft.pass("format", schema.json)
        default:
            throw .unsupported("response_format.type", "use text, json_object or json_schema.")
        }
        // With the name of the schema and `strict`; it counts more than `format` there.
        draft.pass("response_format", value.json)
    }

    private static func translateEffort(_ members: DoorMembers, into draft: inout RequestDraft) throws(RelayError) {
        guard let effort = try members.string("reasoning_effort"), let value = members["reasoning_effort"] else {
            return
        }
        guard let think = think(forEffort: effort) else { throw .unsupported("reasoning_effort", efforts) }
        draft.think(Array(think.utf8), askedIn: "reasoning_effort")
        draft.pass("reasoning_effort", value.json)
    }

    /// `think` in JSON for an effort; `nil` for an unknown one.
    static func think(forEffort effort: String) -> String? {
        switch effort {
        case "none": "false"
        case "minimal", "low": #""low""#
        case "medium": #""medium""#
        case "high": #""high""#
        case "xhigh", "max": #""max""#
        default: nil
        }
    }

    /// The advice for an unknown effort.
    static let efforts = "use none, minimal, low, medium, high, xhigh or max."

    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder { OpenAIChunkEncoder(context) }

    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer) {
        let end = answer.end
        let hasCalls = !answer.toolCalls.isEmpty
        let completion = OpenAICompletion(
            id: "chatcmpl-\(context.reply)", object: "chat.completion", created: context.seconds, model: context.model,
            finishReason: Self.finishReason(isCut: end.isCut, hasCalls: hasCalls), promptTokens: end.promptTokens,
            answerTokens: end.answerTokens)
        completion.append(to: &body) { choice in
            choice.object("message") { Self.write(answer, context, to: &$0) }
        }
    }

    private static func write(_ answer: WholeAnswer, _ context: AnswerContext, to message: inout JSONWriter) {
        message.member("role", "assistant")
        message.name("content")
        if answer.text.isEmpty, !answer.toolCalls.isEmpty {
            message.null()
        } else {
            message.string(answer.text.bytes)
        }
        message.name("refusal")
        message.null()
        if !answer.thinking.isEmpty {
            message.name("reasoning_content")
            message.string(answer.thinking.bytes)
        }
        guard !answer.toolCalls.isEmpty else { return }
        message.array("tool_calls") { calls in
            var index = 0
            answer.forEachCall { call in
                calls.object { json in
                    json.name("id")
                    json.raw { $0.append(idOf: call, at: index, in: context) }
                    json.member("type", "function")
                    json.object("function") { function in
                        function.name("name")
                        function.raw { $0.append(inside: call.name) }
                        function.name("arguments")
                        function.raw { $0.append(argumentsOf: call) }
                    }
                }
                index += 1
            }
        }
    }

    /// Writes the members of `usage`.
    static func write(_ promptTokens: Int, _ answerTokens: Int, to usage: inout JSONWriter) {
        usage.member("prompt_tokens", promptTokens)
        usage.member("completion_tokens", answerTokens)
        usage.member("total_tokens", PeerCount.sum(promptTokens, answerTokens))
    }

    static func finishReason(isCut: Bool, hasCalls: Bool) -> String {
        isCut ? "length" : hasCalls ? "tool_calls" : "stop"
    }
}

extension ByteBuffer {
    /// Appends the inside of a JSON string as a JSON string.
    mutating func append(inside text: Span<UInt8>) {
        append("\"")
        append(text)
        append("\"")
    }

    /// Appends the id of a call as a JSON string: its own, or one that is unique in the reply.
    mutating func append(idOf call: borrowing AnswerToolCall, at index: Int, in context: AnswerContext) {
        guard call.id.isEmpty else {
            append(inside: call.id)
            return
        }
        append("\"call_")
        append(utf8: context.reply.description)
        append("_")
        append(decimal: index)
        append("\"")
    }

    /// Appends the arguments of a call as a JSON string that holds JSON.
    mutating func append(argumentsOf call: borrowing AnswerToolCall) {
        let arguments = call.arguments
        if arguments.isEmpty {
            append("\"{}\"")
        } else if arguments[0] == UInt8(ascii: "\"") {
            // The model wrote a text, which may be no JSON.
            append(arguments)
        } else {
            append(jsonString: arguments)
        }
    }
}
