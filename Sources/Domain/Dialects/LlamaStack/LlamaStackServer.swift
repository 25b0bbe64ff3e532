import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// The native API of Llama Stack up to 0.2: `/v1/inference/chat-completion`.
///
/// Later versions have OpenAI's API only, and are of the kind `openai`.
struct LlamaStackServer: ServerDialect {
    var path: String { "/v1/inference/chat-completion" }
    var translatesMessages: Bool { true }

    func basePath(of path: String) -> String {
        path.dropping(["/v1/inference/chat-completion", "/v1/inference", "/v1/models", "/v1"])
    }

    func body(of request: GenerationRequest) throws(ModelError) -> OutgoingBody {
        OutgoingBody(try LlamaStackChatRequest(request).body)
    }

    func makeDecoder(
        model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64
    ) -> any AnswerDecoder {
        LlamaStackDecoder(model: model, limits: limits, now: now)
    }

    func error(status: Status, fields: Fields, body: Span<UInt8>) -> ModelError {
        ModelError(
            status: status, report: UpstreamErrorBody(body),
            unknownPath: "/v1/inference/chat-completion: since Llama Stack 0.3 its kind is openai.")
    }
}

extension ModelError {
    /// Creates the error of an event. Llama Stack has sent the status 200 by then, and puts the actual status into the message, as in
    /// `400: Invalid value: Model 'm' not found`.
    init(llamaStackEvent event: Span<UInt8>) {
        let report = UpstreamErrorBody(event)
        guard let words = report.message, let colon = words.unicodeScalars.firstIndex(of: ":"),
            let number = Int(words[..<colon]),
            400...599 ~= number, let status = Status(number)
        else {
            self.init(inAnswer: report)
            return
        }
        var body = ByteBuffer()
        body.appendJSON { writer in
            writer.object { $0.member("error", String(words.unicodeScalars[colon...].dropFirst().drop { $0 == " " })) }
        }
        self.init(status: status, report: UpstreamErrorBody(body.bytes), unknownPath: "the path of the request.")
        // Llama Stack 0.2 gives only this message if the prompt exceeds the context of the server behind it.
        if code == .failed, words.contains("Internal server error") { hint = .context }
    }
}
