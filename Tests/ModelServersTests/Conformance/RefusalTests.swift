import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Errors in place of an answer: ten shapes for every server.
@Suite(.timeLimit(.minutes(30))) struct RefusalTests {
    /// A rejection on the wire, and the expected error.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: UpstreamDescription.Kind
        let steps: [UpstreamStep]
        let error: ModelError

        init(_ kind: UpstreamDescription.Kind, _ refusal: Refusal) {
            testDescription = "\(kind.rawValue): \(refusal.status) \(refusal.body.prefix(80)) \(refusal.fields)"
            self.kind = kind
            steps = .plain(refusal.status, refusal.body, type: refusal.type, fields: refusal.fields)
            error = refusal.error
        }
    }

    @Test(arguments: adaptedKinds.flatMap { kind in Refusal.shapes.map { Case(kind, $0) } })
    func everyShapeIsRead(_ refusal: Case) async throws {
        try await check(refusal)
    }

    @Test(arguments: adaptedKinds.flatMap { kind in Refusal.statuses.map { Case(kind, $0) } })
    func everyStatusHasItsCode(_ refusal: Case) async throws {
        try await check(refusal)
    }

    @Test(arguments: adaptedKinds.flatMap { kind in Refusal.overflows.map { Case(kind, $0) } })
    func tooLongPromptIsReported(_ refusal: Case) async throws {
        try await check(refusal)
    }

    private func check(_ refusal: Case) async throws {
        try await blocking {
            let answer = try Peer(refusal.kind, refusal.steps).ask()
            #expect(answer.ends.count == 1 && answer.lines.isEmpty)
            let error = try #require(answer.ends.first ?? nil)
            #expect(error.code == refusal.error.code)
            #expect(error.message.contains(refusal.error.message), "\(error.message)")
            #expect(!error.message.contains("<"), "a page of the model server: \(error.message)")
            #expect(error.contextLength == refusal.error.contextLength)
            #expect(error.promptTokens == refusal.error.promptTokens)
            if refusal.error.retryAfter != nil || error.code != .busy {
                #expect(error.retryAfter == refusal.error.retryAfter)
            }
        }
    }
}

/// An error answer, and the expected error.
struct Refusal: Sendable {
    var status: Int
    var body: String
    var type = "application/json"
    var fields: [(String, String)] = []
    let error: ModelError

    init(
        _ status: Int, _ body: String, type: String = "application/json", fields: [(String, String)] = [],
        _ code: ModelError.Code, _ words: String = "", retryAfter: Duration? = nil, context: Int? = nil,
        prompt: Int? = nil
    ) {
        self.status = status
        self.body = body
        self.type = type
        self.fields = fields
        var error = ModelError(code, words)
        error.retryAfter = retryAfter
        error.contextLength = context
        error.promptTokens = prompt
        self.error = error
    }
}

extension Refusal {
    /// Each shape with each class of status.
    static let shapes = [(400, ModelError.Code.rejected), (500, .failed), (503, .busy)].flatMap { status, code in
        ErrorShape.all.map {
            Refusal(status, $0.body("the words"), type: $0.type, code, $0.hasWords ? "the words" : "")
        }
    }

    static let statuses: [Refusal] = [
        Refusal(401, "", .unauthorized),
        Refusal(401, #"{"error":"Unauthorized"}"#, .unauthorized),
        Refusal(
            401, #"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#, .unauthorized),
        Refusal(403, #"{"detail":"Forbidden"}"#, .unauthorized),
        Refusal(404, #"{"error":"model 'tiny' not found"}"#, .modelNotFound, "model 'tiny' not found"),
        Refusal(
            404,
            #"{"error":{"message":"The model `tiny` does not exist.","type":"NotFoundError","param":"model","code":404}}"#,
            .modelNotFound, "The model `tiny` does not exist."),
        Refusal(
            404,
            #"{"error":{"message":"The model 'tiny' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            .modelNotFound, "does not exist"),
        Refusal(
            404,
            #"{"object":"error","message":"The model `tiny` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
            .modelNotFound, "The model `tiny` does not exist."),
        Refusal(404, "404 page not found", type: "text/plain", .rejected),
        Refusal(404, "<html>nginx</html>", type: "text/html", .rejected),
        Refusal(405, "", .rejected, "405"),
        Refusal(408, #"{"error":{"message":"timed out"}}"#, .failed, "timed out"),
        Refusal(409, #"{"error":{"message":"conflict"}}"#, .rejected, "conflict"),
        Refusal(
            422, #"{"detail":[{"loc":["body","messages"],"msg":"field required","type":"missing"}]}"#, .rejected,
            "field required"),
        Refusal(429, "", .busy),
        Refusal(429, "{}", fields: [("Retry-After", "7")], .busy, retryAfter: .seconds(7)),
        Refusal(429, "{}", fields: [("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT")], .busy),
        Refusal(503, "{}", fields: [("Retry-After", "120")], .busy, retryAfter: .seconds(120)),
        Refusal(503, "{}", fields: [("Retry-After", "soon")], .busy),
        Refusal(
            529, #"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, .busy, "Overloaded"),
        Refusal(500, "", .failed, "500"),
        Refusal(502, "<html>Bad Gateway</html>", type: "text/html", .failed, "502"),
        Refusal(504, "upstream request timeout", type: "text/plain", .failed, "504"),
        Refusal(400, #"{"error":{"message":null,"type":null,"code":null}}"#, .rejected),
        Refusal(400, #"{"error":null}"#, .rejected, "400"),
        Refusal(400, #"{"error":"#, .rejected, "400"),
        Refusal(307, "", fields: [("Location", "http://127.0.0.1:1/")], .malformed, "redirect"),
        Refusal(302, "", fields: [("Location", "/login")], .malformed, "redirect"),
        Refusal(304, "", .malformed),
    ]

    static let overflows: [Refusal] = [
        Refusal(
            400,
            #"{"error":{"code":400,"message":"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":28015,"n_ctx":4096}}"#,
            .contextTooLong, "request (28015 tokens) exceeds", context: 4096, prompt: 28015),
        Refusal(
            400,
            #"{"error":"{\"error\":{\"code\":400,\"message\":\"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":28015,\"n_ctx\":4096}}"}"#,
            .contextTooLong, "request (28015 tokens) exceeds", context: 4096, prompt: 28015),
        Refusal(
            400,
            #"{"error":{"message":"This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit even without any output tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
            .contextTooLong, "maximum context length", context: 4096, prompt: 4097),
        Refusal(
            400,
            #"{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8900 in the messages, 100 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#,
            .contextTooLong, "maximum context length", context: 8192, prompt: 8900),
        Refusal(
            400,
            #"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            .contextTooLong, "maximum context length", context: 128_000, prompt: 140_000),
        Refusal(
            413, #"{"error":{"message":"too long","type":"x","code":"context_length_exceeded"}}"#, .contextTooLong,
            "too long"),
    ]
}

/// A shape of errors.
struct ErrorShape: Sendable {
    let name: String
    let type: String
    /// Whether its message is for people.
    let hasWords: Bool
    private let template: String

    private init(_ name: String, _ template: String, type: String = "application/json", hasWords: Bool = true) {
        self.name = name
        self.template = template
        self.type = type
        self.hasWords = hasWords
    }

    func body(_ words: String) -> String { template.replacing("WORDS", with: words) }

    static let all: [ErrorShape] = [
        ErrorShape("text", #"{"error":"WORDS"}"#),
        ErrorShape("an object, code null", #"{"error":{"message":"WORDS","type":"t","param":null,"code":null}}"#),
        ErrorShape("an object, code text", #"{"error":{"message":"WORDS","type":null,"param":null,"code":"500"}}"#),
        ErrorShape(
            "an object, code a number",
            #"{"error": {"message": "WORDS", "type": "InternalServerError", "param": null, "code": 500}}"#),
        ErrorShape("an object, no code", #"{"error":{"message":"WORDS"}}"#),
        ErrorShape(
            "without an object around it", #"{"object":"error","message":"WORDS","type":"t","param":null,"code":404}"#),
        ErrorShape("detail within error", #"{"error":{"detail":"WORDS"}}"#),
        ErrorShape(
            "errors within detail", #"{"error":{"detail":{"errors":[{"loc":["body"],"msg":"WORDS","type":"t"}]}}}"#),
        ErrorShape("detail", #"{"detail":"WORDS"}"#),
        ErrorShape("a list of details", #"{"detail":[{"loc":["body","messages"],"msg":"WORDS","type":"t"}]}"#),
        ErrorShape(
            "of type error", #"{"type":"error","error":{"type":"overloaded_error","message":"WORDS"},"request_id":"r"}"#
        ),
        ErrorShape("with its status", #"{"StatusCode":500,"Status":"Internal Server Error","error":"WORDS"}"#),
        ErrorShape(
            "of type error, without an object around it",
            #"{"type":"error","code":null,"message":"WORDS","param":null,"sequence_number":1}"#),
        ErrorShape("text that is no JSON", "WORDS", type: "text/plain", hasWords: false),
        ErrorShape("a page", "<html><h1>WORDS</h1></html>", type: "text/html", hasWords: false),
    ]
}
