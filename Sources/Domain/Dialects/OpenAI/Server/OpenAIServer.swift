import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// OpenAI's `/chat/completions`, as served by vLLM, llama.cpp, LiteLLM, Llama Stack and OpenAI itself.
struct OpenAIServer: ServerDialect {
    /// Whether the server is OpenAI's own, which has its own names for some members.
    let isOpenAI: Bool

    var path: String { "/chat/completions" }
    var translatesMessages: Bool { true }

    func basePath(of path: String) -> String {
        // A path of another kind is no base of this one.
        let base = path.dropping([
            "/api/chat", "/api/generate", "/api/tags", "/chat/completions", "/completions", "/models",
        ])
        return base.isEmpty ? "/v1" : base
    }

    func body(of request: GenerationRequest) throws(ModelError) -> OutgoingBody {
        var body = OpenAIChatRequest(
            model: request.model, capacity: request.messages.byteCount + request.beginning.count)
        try request.messages.forEachRun { run throws(ModelError) in
            try body.append(encodedMessages: run)
        }
        if !request.beginning.isEmpty {
            body.append(beginning: request.beginning.span)
        }
        var members = OpenAIRequestMembers(isOpenAI: isOpenAI)
        try members.translate(request.passThrough)
        if !request.beginning.isEmpty, request.continuation == .continueFinalMessage {
            members.set("continue_final_message", to: "true")
            members.set("add_generation_prompt", to: "false")
        }
        return body.finish(members.list)
    }

    func makeDecoder(
        model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64
    ) -> any AnswerDecoder {
        OpenAIDecoder(model: model, limits: limits, now: now)
    }

    func error(status: Status, fields: Fields, body: Span<UInt8>) -> ModelError {
        ModelError(
            status: status, report: UpstreamErrorBody(body), unknownPath: "…\(path): is its URL right?")
    }
}
