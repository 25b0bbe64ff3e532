import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `/v1/completions`: the continuation of a text.
struct OpenAICompletions: PassTranslator {
    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model")),
        DoorField(
            "prompt", .translated("`prompt`; a list of one text is that text; other lists and tokens are refused")),
        DoorField("suffix", .passed),
        DoorField("stream", .translated("whether the answer is streamed; default `false`")),
        DoorField("stream_options", .translated("`include_usage`; its other members have no effect")),
        DoorField("max_tokens", .option("num_predict")),
        DoorField("temperature", .option("temperature")),
        DoorField("top_p", .option("top_p")),
        DoorField("seed", .option("seed")),
        DoorField("presence_penalty", .option("presence_penalty")),
        DoorField("frequency_penalty", .option("frequency_penalty")),
        DoorField("stop", .translated("`options.stop`")),
        DoorField("echo", .refused("put the prompt before the answer."), harmless: ["false"]),
        DoorField("n", .refused("ask several times for several answers."), harmless: ["1"]),
        DoorField("best_of", .refused("ask several times for several answers."), harmless: ["1"]),
        DoorField("logprobs", .refused("the model server of this model has no probabilities here.")),
        DoorField("logit_bias", .passed), DoorField("user", .passed),
    ]

    var hasAnswerTokens: Bool { true }

    func path(at kind: UpstreamDescription.Kind) -> String? {
        switch kind {
        case .openai: "/completions"
        case .ollama: "/api/generate"
        case .llamastack, .echo: nil
        }
    }

    func ollamaBody(of body: [UInt8], asking name: String) throws(RelayError) -> [UInt8] {
        var draft = try RequestDraft(body, Self.fields, others: .passed)
        guard let prompt = draft.body["prompt"] else { throw .invalid("prompt is missing.", "prompt") }
        let list = prompt.elements(atMost: 1)
        guard let text = list?.first ?? (list == nil ? prompt : nil), let string = text.string else {
            throw .unsupported("prompt", "send one text; the model server of this model takes no tokens.")
        }
        // An empty prompt only loads the model.
        guard !string.isEmpty else { throw .invalid("prompt is empty.", "prompt") }
        draft.stop(at: draft.body["stop"])
        let isStreamed = try Self.isStreamed(draft.body)
        _ = try Self.includesUsage(draft.body)
        return try draft.ollamaBody(
            asking: name,
            with: [
                RawMember(key: "prompt", value: text.json),
                RawMember(key: "stream", value: Array((isStreamed ? "true" : "false").utf8)),
            ])
    }

    private static func isStreamed(_ members: DoorMembers) throws(RelayError) -> Bool {
        try members.boolean("stream") ?? false
    }

    private static func includesUsage(_ members: DoorMembers) throws(RelayError) -> Bool {
        try members.object("stream_options")?.boolean("include_usage", in: "stream_options.") ?? false
    }

    func makeEncoder(
        for body: [UInt8], at kind: UpstreamDescription.Kind, _ context: PassContext
    ) throws(RelayError) -> any PassedAnswerEncoder {
        let isOllama = kind == .ollama
        // A server of the kind `openai` checks the members itself.
        let members = try RequestDraft(body, isOllama ? Self.fields : [], others: .passed).body
        switch (try Self.isStreamed(members), isOllama) {
        case (true, true): return CompletionLines(context, includesUsage: try Self.includesUsage(members))
        case (true, false): return PassedEvents()
        case (false, true):
            return WholePassedAnswer { answer, output throws(PassedAnswerProblem) in
                try Self.append(answer, context, to: &output)
            }
        case (false, false): return WholePassedAnswer()
        }
    }

    /// Appends the answer of an Ollama's `/api/generate` in one piece.
    private static func append(
        _ answer: DoorMembers, _ context: PassContext, to output: inout ByteBuffer
    ) throws(PassedAnswerProblem) {
        guard answer["done"]?.boolean == true else { throw .incomplete }
        let end = CompletionEnd(answer)
        let completion = OpenAICompletion(
            id: "cmpl-\(context.id)", object: "text_completion", created: context.seconds, model: context.model,
            finishReason: end.reason, promptTokens: end.promptTokens, answerTokens: end.answerTokens)
        completion.append(to: &output) { $0.member("text", answer["response"]?.string ?? "") }
    }
}

/// What the last object of an Ollama's `/api/generate` says of the answer.
struct CompletionEnd {
    let reason: String
    let promptTokens: Int
    let answerTokens: Int

    init(_ answer: DoorMembers) {
        reason = answer["done_reason"]?.string == "length" ? "length" : "stop"
        promptTokens = answer["prompt_eval_count"]?.count ?? 0
        answerTokens = answer["eval_count"]?.count ?? 0
    }
}
