import ChatterdBasics
import ChatterdHTTP
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// The errors of servers, in all known shapes.
@Suite(.timeLimit(.minutes(30))) struct UpstreamErrorBodyTests {
    /// A body, and its expected content.
    struct Shape: Sendable, CustomTestStringConvertible {
        let body: String
        let message: String?
        var type: String?
        var code: String?

        init(_ body: String, _ message: String?, type: String? = nil, code: String? = nil) {
            self.body = body
            self.message = message
            self.type = type
            self.code = code
        }

        var testDescription: String { body }
    }

    static let shapes: [Shape] = [
        Shape(#"{"error":"text"}"#, "text"),
        Shape(
            #"{"error":{"message":"m","type":"t","param":null,"code":null}}"#, "m", type: "t"),
        Shape(#"{"error":{"message":"m","type":"t","code":"c"}}"#, "m", type: "t", code: "c"),
        Shape(#"{"error":{"message":"m","type":"t","code":404}}"#, "m", type: "t", code: "404"),
        Shape(#"{"object":"error","message":"m","type":"t","param":null,"code":404}"#, "m", type: "t", code: "404"),
        Shape(#"{"error":{"detail":"m"}}"#, "m"),
        Shape(
            #"{"error":{"detail":{"errors":[{"loc":["body","messages",0],"msg":"m","type":"t"},{"msg":"n"}]}}}"#,
            "body.messages.0: m; n"),
        Shape(#"{"detail":"m"}"#, "m"),
        Shape(#"{"detail":[{"type":"missing","loc":["body"],"msg":"Field required"}]}"#, "body: Field required"),
        Shape(
            #"{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}"#, "m",
            type: "overloaded_error"),
        Shape(#"{"StatusCode":500,"Status":"s","error":"m"}"#, "m"),
        Shape(#"{"type":"error","code":null,"message":"m"}"#, "m", type: "error"),
        Shape(#"{"error":"{\"error\":{\"code\":400,\"message\":\"m\",\"type\":\"t\"}}"}"#, "m", type: "t", code: "400"),
        Shape(#"{"error":"{not JSON"}"#, "{not JSON"),
        Shape(#"{"error":{"message":null,"code":500}}"#, #"{"error":{"message":null,"code":500}}"#, code: "500"),
        Shape(#"{"error":null}"#, nil), Shape(#"{"error":""}"#, nil), Shape(#"{"error":{}}"#, nil), Shape("{}", nil),
        Shape("", nil), Shape("404 page not found", nil), Shape("<html>Bad Gateway</html>", nil), Shape("[]", nil),
    ]

    @Test(arguments: shapes)
    func everyShapeIsRead(_ shape: Shape) {
        let said = UpstreamErrorBody(Array(shape.body.utf8).span)
        #expect(said.message == shape.message)
        #expect(said.type == shape.type)
        #expect(said.code == shape.code)
    }

    @Test func textOfABodyIsForTheLog() {
        #expect(UpstreamErrorBody(Array("no healthy upstream".utf8).span).text == "no healthy upstream")
        #expect(UpstreamErrorBody(Array("<html>".utf8).span).text == nil)
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 16_384)
        #expect(UpstreamErrorBody(long.span).text?.count == 400)
    }

    @Test func nestingHasALimit() {
        let deep = String(repeating: "{\"error\":", count: 60) + "\"m\"" + String(repeating: "}", count: 60)
        #expect(UpstreamErrorBody(Array(deep.utf8).span).message != "m")
    }

    /// A refusal for the length of the prompt, and the numbers in it: the context, the prompt.
    @Test(arguments: [
        (
            400,
            #"{"error":{"code":400,"message":"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":28015,"n_ctx":4096}}"#,
            4096, 28015
        ),
        (
            400,
            #"{"error":"{\"error\":{\"code\":400,\"message\":\"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":28015,\"n_ctx\":4096}}"}"#,
            4096, 28015
        ),
        (
            400,
            #"{"error":{"message":"This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens, which exceeds this limit.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
            4096, 4097
        ),
        (
            400,
            #"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).","code":"context_length_exceeded"}}"#,
            4096, 4500
        ),
        (
            422,
            #"{"detail":"The decoder prompt (length 5,000) is longer than the maximum model length of 4096."}"#, 4096,
            5000
        ),
        (413, #"{"error":{"message":"prompt is too long: 205000 tokens > 200000 maximum"}}"#, 200_000, 205_000),
    ])
    func tooSmallContextIsRecognised(status: Int, body: String, context: Int, prompt: Int) throws {
        let status = try #require(Status(status))
        for dialect: any ServerDialect in [OllamaServer(), OpenAIServer(isOpenAI: false)] {
            let error = dialect.error(status: status, fields: [:], body: Array(body.utf8).span)
            #expect(error.code == .contextTooLong)
            #expect(error.contextLength == context)
            #expect(error.promptTokens == prompt)
            #expect(!error.message.hasPrefix("{"))
        }
    }

    @Test(arguments: [
        (401, #"{"error":"Unauthorized"}"#, ModelError.Code.unauthorized), (403, "", .unauthorized),
        (
            404, #"{"error":{"message":"The model `x` does not exist.","type":"NotFoundError","param":"model"}}"#,
            .modelNotFound
        ),
        (404, #"{"error":{"message":"m","code":"model_not_found"}}"#, .modelNotFound),
        (400, #"{"error":{"code":400,"message":"model 'nope' not found"}}"#, .modelNotFound),
        (404, #"{"error":{"message":"File Not Found","code":404}}"#, .rejected),
        (404, #"{"detail":"Not Found"}"#, .rejected),
        (404, "", .rejected), (400, #"{"error":{"message":"bad"}}"#, .rejected), (422, "", .rejected),
        (409, "", .rejected),
        (307, "", .malformed), (408, "", .failed), (429, "", .busy), (500, "", .failed), (502, "", .failed),
        (503, #"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#, .busy), (529, "", .busy),
        (500, #"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#, .failed),
    ])
    func everyStatusHasItsCode(status: Int, body: String, code: ModelError.Code) throws {
        let status = try #require(Status(status))
        #expect(
            OpenAIServer(isOpenAI: false).error(status: status, fields: [:], body: Array(body.utf8).span).code == code)
    }

    @Test func longMessageIsCut() {
        let body = #"{"error":"\#(String(repeating: "e\u{301}", count: 100_000))"}"#
        #expect(UpstreamErrorBody(Array(body.utf8).span).message?.unicodeScalars.count == 2_000)
    }

    @Test func messageAboutTheKeyGoesToTheLog() throws {
        let body = #"{"error":{"message":"Incorrect API key provided: sk-abc."}}"#
        let error = OpenAIServer(isOpenAI: true).error(
            status: .unauthorized, fields: [:], body: Array(body.utf8).span)
        #expect(!error.message.contains("sk-abc"))
        #expect(error.detail.contains("Incorrect API key"))
    }

    @Test(arguments: [
        ("7", nil, Duration.seconds(7)), ("0", nil, .seconds(0)), ("-1", nil, nil), ("soon", nil, nil),
        ("99999999999", nil, .seconds(86_400)), ("Fri, 20 Nov 2026 10:00:30 GMT", nil, .seconds(30)),
        ("Fri, 20 Nov 2026 10:00:30 GMT", "Fri, 20 Nov 2026 10:00:10 GMT", .seconds(20)),
        ("Fri, 20 Nov 2026 09:00:00 GMT", nil, .seconds(0)),
    ])
    func retryAfterOfTheServerIsReported(text: String, date: String?, expected: Duration?) throws {
        var fields: Fields = [.retryAfter: try #require(FieldValue(validating: text))]
        if let date { fields.set(.date, try #require(FieldValue(validating: date))) }
        #expect(fields.retryAfter(now: 1_795_168_800) == expected)
    }
}
