import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `POST /v1/responses`.
struct OpenResponses: ChatTranslator {
    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model; `CHATTERD_DEFAULT_MODEL` without it")),
        DoorField("input", .translated("the messages, [below](#items); a text is a message of the user")),
        DoorField(
            "instructions", .translated("a message of the system before the whole history, for this request only")),
        DoorField("previous_response_id", .translated("the response or reply that the input follows")),
        DoorField("conversation", .translated("the name of the conversation that the input follows")),
        DoorField("store", .translated("`false`: the request is stateless; default `true`")),
        DoorField(
            "background", .translated("`true`: the answer comes at once, and the response continues without its client")
        ),
        DoorField("stream", .translated("whether the answer is streamed; default `false`")),
        DoorField(
            "stream_options", .ignored("events are not padded."),
            harmless: [#"{"include_obfuscation":false}"#, "{}"]),
        DoorField(
            "include",
            .translated(
                "`reasoning.encrypted_content` has no effect, as reasoning is not hidden; `message.output_text.logprobs` "
                    + "is refused; others are ignored")),
        DoorField("max_output_tokens", .translated("`options.num_predict`")),
        DoorField("temperature", .option("temperature")),
        DoorField("top_p", .option("top_p")),
        DoorField("presence_penalty", .option("presence_penalty")),
        DoorField("frequency_penalty", .option("frequency_penalty")),
        DoorField(
            "tools",
            .translated(
                "`tools`, [below](#tools-of-responses): functions, custom tools and namespaces of them; others are ignored, "
                    + "as no model can call them")),
        DoorField(
            "tool_choice", .translated("passed, unless it is `auto` or `none`; `allowed_tools` selects from `tools`")),
        DoorField(
            "text",
            .translated(
                "`format` is `format`, and `response_format` for servers of kind `openai`; `verbosity` is passed")),
        DoorField(
            "reasoning",
            .translated(
                "`effort` is `think`, and `reasoning_effort` for servers of kind `openai`; `summary` has no effect, as items "
                    + "have the whole reasoning")),
        DoorField("metadata", .translated("repeated in the response")),
        DoorField(
            "truncation",
            .translated(
                "`auto`: the oldest turns that do not fit are left out; `disabled`: a request that does not fit is "
                    + "refused; default `auto`")),
        DoorField(
            "max_tool_calls",
            .translated("the calls of tools of the server that run, 1 or more; the others have a result that says so")),
        DoorField("client_metadata", .ignored("no model server reads it.")),
        DoorField("top_logprobs", .refused("answers have no probabilities here."), harmless: ["0"]),
        DoorField("prompt", .refused("chatterd stores no prompts: send instructions and input.")),
        DoorField("context_management", .ignored("chatterd edits no messages."), harmless: ["[]"]),
        DoorField("parallel_tool_calls", .passed), DoorField("prompt_cache_key", .passed),
        DoorField("prompt_cache_retention", .passed), DoorField("safety_identifier", .passed),
        DoorField("service_tier", .passed), DoorField("user", .passed),
    ]

    func request(_ body: [UInt8], _ policy: DoorPolicy) throws(RelayError) -> DoorRequest {
        var draft = try RequestDraft(body, Self.fields, others: .passed, policy)
        let members = draft.body
        draft.stream = try members.boolean("stream") ?? false
        guard let input = members["input"] else { throw .invalid("input is missing.", "input") }
        try draft.limitAnswer(by: "max_output_tokens")
        let tools = try ResponseTools(members, ignored: &draft.ignored)
        let items = try ResponseInput.translate(
            items: input, "input", calling: tools.table, ignored: &draft.ignored)
        draft.messages = items.messages
        tools.add(to: &draft)
        let format = try ResponseFormat(members, ignored: &draft.ignored)
        format.add(to: &draft)
        let reasoning = try ResponseReasoning(members, ignored: &draft.ignored)
        reasoning.add(to: &draft)
        try Self.checkParts(members, ignored: &draft.ignored)
        if let limit = members["max_tool_calls"], !limit.isNull, limit.wholeNumber ?? 0 < 1 {
            throw .invalid("max_tool_calls must be a number from 1 on.", "max_tool_calls")
        }
        let truncation = try Self.truncation(members)
        if truncation == "disabled" { draft.pass("truncate", Array("false".utf8)) }
        let isStored = try members.boolean("store") ?? true
        let isBackground = try members.boolean("background") ?? false
        let continuation = try Self.continuation(members)
        if !isStored {
            if isBackground { throw .unsupported("background", "a response that is not stored cannot be read later.") }
            if case .conversation = continuation {
                throw .unsupported("conversation", "a response that is not stored belongs to no conversation.")
            }
        }
        let repeated = try ResponseRepetition(
            members, tools, format, reasoning, continuation, isStored: isStored, isBackground: isBackground)
        var request = try DoorRequest(draft)
        request.isRemembered = isStored
        request.isBackground = isBackground
        request.continuation = continuation
        request.repeated = repeated.json
        request.toolServers = tools.servers
        request.approved = items.approved
        return request
    }

    /// Checks which parts of answers the request asks for.
    private static func checkParts(_ members: DoorMembers, ignored: inout IgnoredMembers) throws(RelayError) {
        for (index, value) in (try members.array("include") ?? []).enumerated() {
            let path = "include[\(index)]"
            switch value.string {
            case "reasoning.encrypted_content": break
            case "message.output_text.logprobs": throw .unsupported(path, "answers have no probabilities here.")
            case .some: try ignored.add(path, "answers have no such parts here.")
            case nil: throw .wrongType(path, "a string")
            }
        }
    }

    private static func truncation(_ members: DoorMembers) throws(RelayError) -> String? {
        let truncation = try members.string("truncation")
        guard let truncation, !["auto", "disabled"].contains(truncation) else { return truncation }
        throw .unsupported("truncation", "use auto or disabled.")
    }

    private static func continuation(_ members: DoorMembers) throws(RelayError) -> DoorRequest.Continuation? {
        let conversation = try Self.conversation(members)
        guard let previous = try members.string("previous_response_id") else {
            return conversation.map { .conversation($0) }
        }
        guard conversation == nil else {
            throw .unsupported("previous_response_id", "leave it out if there is a conversation.")
        }
        guard let id = ReplyID(response: previous) else {
            var error = RelayError(.replyNotFound, "There is no response \(previous).")
            error.parameter = "previous_response_id"
            throw error
        }
        return .reply(id)
    }

    /// The name of the conversation: a text, or an object with it.
    private static func conversation(_ members: DoorMembers) throws(RelayError) -> String? {
        guard let value = members["conversation"] else { return nil }
        if let name = value.string { return name }
        guard let object = value.members(), let name = try object.string("id", in: "conversation.") else {
            throw .wrongType("conversation", "a string, or an object with id")
        }
        return name
    }

    func makeEncoder(_ context: AnswerContext) -> any AnswerEncoder { ResponseEventEncoder(context) }

    /// A stopped answer is a response too, and a stream ends with a failed one as well: their status says so.
    var presentsAnyEnding: Bool { true }
    var waitsForModelServer: Bool { true }

    func append(_ answer: WholeAnswer, _ context: AnswerContext, to body: inout ByteBuffer) {
        let output = ResponseOutput(
            thinking: answer.thinking.bytes, text: answer.text.bytes, toolCalls: answer.toolCalls.bytes, answer.steps)
        let end = ResponseEnd(answer.lastLine.span, context)
        ResponseDocument(context).append(output, as: end, to: &body)
    }
}

extension ReplyID {
    /// Parses the id of a response: `resp_` and the id of a reply, or the id of a reply alone; `nil` for any other text.
    public init?(response text: String) {
        self.init(parsing: text.hasPrefix("resp_") ? String(text.dropFirst(5)) : text)
    }
}
