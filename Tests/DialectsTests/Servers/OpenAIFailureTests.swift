import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// Failures of OpenAI streams, and regular ends.
@Suite(.timeLimit(.minutes(30))) struct OpenAIFailureTests {
    private typealias Stream = OpenAIStream

    /// A stream and its expected error; `nil` for a regular end.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let stream: String
        let code: ModelError.Code?
        var says = ""

        init(_ name: String, _ stream: String, _ code: ModelError.Code?, says: String = "") {
            testDescription = name
            self.stream = stream
            self.code = code
            self.says = says
        }
    }

    private static let token = Stream.token("a")
    private static let engine =
        #"{"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "param": null, "code": 500}}"#

    static let cases: [Case] = [
        Case("no usage", token + Stream.finish + Stream.done, nil),
        Case("no [DONE]", token + Stream.finish + Stream.usage, nil),
        Case("a finish without usage and mark", token + Stream.finish, nil),
        Case("no blank line behind [DONE]", token + Stream.finish + "data: [DONE]\n", nil),
        Case("the last event is cut behind the finish", token + Stream.finish + "data: {\"choices\":[],\"us", nil),
        Case("two finish chunks", token + Stream.finish + Stream.finish + Stream.done, nil),
        Case("text and finish in one", Stream.chunk("\"content\":\"a\"", finish: "\"stop\"") + Stream.done, nil),
        Case(
            "an empty finish_reason on every chunk",
            Stream.chunk("\"content\":\"a\"", finish: "\"\"") + Stream.finish, nil),
        Case(
            "usage with an empty choice",
            token + Stream.finish
                + Stream.event(
                    #"{"choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#),
            nil),
        Case(
            "usage null everywhere",
            Stream.event(
                #"{"choices":[{"delta":{"content":"a"},"finish_reason":null}],"usage":null}"#) + Stream.finish, nil),
        Case(
            "error null everywhere",
            Stream.event(
                #"{"choices":[{"delta":{"content":"a"},"finish_reason":null}],"error":null}"#) + Stream.finish, nil),
        Case("an empty body", "", .incomplete, says: "empty"),
        Case("comments only", ": ping\n\n: ping\n\n", .incomplete, says: "empty"),
        Case("[DONE] alone", Stream.done, .incomplete),
        Case("[DONE] without a finish", token + Stream.done, .incomplete),
        Case("an end without a finish", token, .incomplete),
        Case("half an event", token + "data: {\"choices\":[{\"del", .incomplete),
        Case(
            "Ollama's silent failure",
            token
                + Stream.event(
                    #"{"id":"1","model":"","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}"#),
            .incomplete),
        Case("vLLM: error, then [DONE]", token + Stream.event(engine) + Stream.done, .failed, says: "EngineCore"),
        Case("an error first of all", Stream.event(engine), .failed, says: "EngineCore"),
        Case("an error without a blank line", token + "data: \(engine)", .failed, says: "EngineCore"),
        Case(
            "a code that is text", token + Stream.event(#"{"error":{"message":"m","code":"400"}}"#), .failed, says: "m"),
        Case("an error that is text", token + Stream.event(#"{"error":"boom"}"#), .failed, says: "boom"),
        Case("an error without words", token + Stream.event(#"{"error":{"code":500}}"#), .failed, says: "500"),
        Case(
            "an error and a finish in one",
            Stream.event(#"{"error":{"message":"boom"},"choices":[{"delta":{},"finish_reason":"stop"}]}"#), .failed),
        Case(
            "an error behind the finish", token + Stream.finish + Stream.event(engine) + Stream.done, .failed),
        Case(
            "error without a wrapper", Stream.event(#"{"object":"error","message":"m","code":400}"#), .failed, says: "m"
        ),
        Case("OpenAI's responses", Stream.event(#"{"type":"error","code":null,"message":"m"}"#), .failed, says: "m"),
        Case("FastAPI", Stream.event(#"{"detail":"m"}"#), .failed, says: "m"),
        Case("an event of that name", "event: error\ndata: {\"message\":\"m\"}\n\n", .failed, says: "m"),
        Case(
            "old llama.cpp", token + "error: {\"code\":500,\"message\":\"slot unavailable\"}\n\n", .failed, says: "slot"
        ),
        Case(
            "the context, by its name",
            Stream.event(#"{"error":{"message":"too long","type":"exceed_context_size_error","n_ctx":4096}}"#),
            .contextTooLong, says: "too long"),
        Case("vLLM aborts", token + Stream.chunk("", finish: "\"abort\""), .failed),
        Case("not JSON", token + Stream.event("garbage"), .malformed),
        Case("an array", Stream.event("[]"), .malformed),
        Case("a body that is an error", "{\"error\":{\"message\":\"boom\"}}\n", .failed, says: "boom"),
        Case("a body that is an error after spaces", "\n {\"error\":{\"message\":\"boom\"}}\n", .failed, says: "boom"),
        Case("a body that is half an object", "{\"choices\":[", .malformed),
        Case(
            "a body that is a whole answer",
            #"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#, nil),
    ]

    @Test(arguments: cases)
    func endsAreDistinguished(_ end: Case) {
        let decoded = [UInt8].decode(end.stream)
        #expect(decoded.error?.code == end.code)
        #expect(decoded.error?.message.contains(end.says) ?? true)
        #expect(decoded.isComplete == (end.code == nil))
        let bytes = Array(end.stream.utf8)
        let slow = [UInt8].decode(bytes.map { [$0] })
        #expect(slow.lines == decoded.lines && slow.error?.code == decoded.error?.code)
    }

    @Test func linesAfterTheLastLineAreNotRead() {
        let decoded = [UInt8].decode(
            Self.token + Stream.finish + Stream.usage + "garbage\n\n" + Stream.event("garbage"))
        #expect(decoded.lines == [textLine("a"), lastLine()])
        #expect(decoded.error == nil)
    }

    @Test func answerIsWholeAfterTheFinishReason() {
        #expect(![UInt8].decode(Self.token, ends: false).isWhole)
        #expect([UInt8].decode(Self.token + Stream.finish, ends: false).isWhole)
    }

    @Test func commentsAreNoProgress() {
        #expect(![UInt8].decode(": ping\n\n", ends: false).hasProgressed)
        #expect(![UInt8].decode([Array(Self.token.utf8), Array(": ping\n\n".utf8)], ends: false).hasProgressed)
        #expect([UInt8].decode([Array(Self.token.utf8), Array("data: {".utf8)], ends: false).hasProgressed)
    }

    @Test func eventsAndBodiesHaveLimits() {
        var limits = GenerationLimits()
        limits.line = 300
        limits.answer = 1000
        let long = Array(Stream.token(String(repeating: "x", count: 400)).utf8)
        #expect([UInt8].decode([long], limits: limits).error?.code == .malformed)
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 100)
        #expect(
            [UInt8].decode([Array("data: ".utf8)] + Array(repeating: piece, count: 20), limits: limits).error?.code
                == .malformed)
        #expect(
            [UInt8].decode([Array("{".utf8)] + Array(repeating: piece, count: 20), limits: limits).error?.code
                == .answerTooLarge)
        let call = Stream.chunk(#""tool_calls":[{"index":0,"function":{"arguments":"0123456789"}}]"#)
        #expect(
            [UInt8].decode(Array(repeating: Array(call.utf8), count: 200), limits: limits).error?.code
                == .answerTooLarge)
    }
}
