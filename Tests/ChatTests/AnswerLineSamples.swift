import ChatterdBasics
import ChatterdChat
import Testing

/// The content of a line, in comparable values.
struct LineSummary: Equatable, Sendable {
    var error: String?
    var content: String?
    var thinking: String?
    var toolCalls: String?
    var isDone = false
    var doneReason: String?
    var promptTokens: Int?
    var answerTokens: Int?
    var missing: AnswerLineMembers = []
}

/// A line as a real server sent it.
struct AnswerLineSample: Sendable, CustomTestStringConvertible {
    let line: String
    let summary: LineSummary

    init(_ line: String, _ summary: LineSummary) {
        self.line = line
        self.summary = summary
    }

    var testDescription: String { line }
}

extension [UInt8] {
    func summary(of line: AnswerLine) -> LineSummary {
        let decoded = { (string: JSONString) in String(decodingJSON: self.span.extracting(string.range)) }
        let error = line.error?.text(in: span)
        return LineSummary(
            error: error, content: line.content.map(decoded), thinking: line.thinking.map(decoded),
            toolCalls: line.toolCalls.map { String(decoding: self[$0], as: UTF8.self) }, isDone: line.isDone,
            doneReason: line.doneReason.map(decoded), promptTokens: line.promptTokens, answerTokens: line.answerTokens,
            missing: line.missing)
    }
}

extension ArraySlice<UInt8> {
    /// The bytes as a line; `nil` if they are none.
    var asLine: AnswerLine? { try? AnswerLine(span) }
}

/// Ollama 0.32.15 first, then the lines of 0.11.11 that differ.
let answerLineSamples: [AnswerLineSample] = [
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"Hello! "},"done":false}"#,
        LineSummary(content: "Hello! ")),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":261237533,"load_duration":256496426,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":13,"eval_duration":1959000}"#,
        LineSummary(content: "", isDone: true, doneReason: "stop", promptTokens: 18, answerTokens: 13)),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":"","thinking":"wants "},"done":false}"#,
        LineSummary(content: "", thinking: "wants ")),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"0YY9","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]},"done":true,"done_reason":"stop","total_duration":60385550}"#,
        LineSummary(
            content: "",
            toolCalls:
                #"[{"id":"0YY9","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]"#,
            isDone: true, doneReason: "stop")),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.49Z","message":{"role":"assistant","content":"endless"},"done":true,"done_reason":"length","eval_count":40960}"#,
        LineSummary(content: "endless", isDone: true, doneReason: "length", answerTokens: 40960)),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.49Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}"#,
        LineSummary(content: "", isDone: true, doneReason: "load")),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.49Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"unload"}"#,
        LineSummary(content: "", isDone: true, doneReason: "unload")),
    .init(
        #"{"model":"tiny","created_at":"2026-11-20T10:39:26.49Z","message":{"role":"assistant","content":"\u003cb\u003e \u0026 \u2028 �"},"done":false}"#,
        LineSummary(content: "<b> & \u{2028} \u{FFFD}")),
    .init(
        #"{"error":"model 'no-such-model' not found"}"#,
        LineSummary(error: "model 'no-such-model' not found", missing: .all)),
    .init(#"{"error":"unexpected EOF"}"#, LineSummary(error: "unexpected EOF", missing: .all)),
    .init(
        #"{"error":"option \"temperature\" must be of type float32"}"#,
        LineSummary(error: #"option "temperature" must be of type float32"#, missing: .all)),
    .init(
        #"{"error":"{\"error\":{\"code\":400,\"message\":\"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":28015,\"n_ctx\":4096}}"}"#,
        LineSummary(
            error:
                #"{"error":{"code":400,"message":"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":28015,"n_ctx":4096}}"#,
            missing: .all)),
    .init(
        #"{"model":"slow","created_at":"2026-11-20T10:39:26.49Z","message":{"role":"assistant","content":"56, "},"done":false}"#,
        LineSummary(content: "56, ")),
    .init(
        #"{"error":"an error was encountered while running the model: unexpected EOF"}"#,
        LineSummary(error: "an error was encountered while running the model: unexpected EOF", missing: .all)),
    .init(
        #"{"model":"tiny","created_at":"2025-11-20T10:39:26.49Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Bergen"}}}]},"done":false}"#,
        LineSummary(content: "", toolCalls: #"[{"function":{"name":"get_weather","arguments":{"city":"Bergen"}}}]"#)),
    .init(
        #"{"model":"tiny","created_at":"2025-11-20T10:39:26.49Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":1,"name":"get_weather","arguments":{"city":"Bodø"}}}]},"done":false}"#,
        LineSummary(
            content: "", toolCalls: #"[{"function":{"index":1,"name":"get_weather","arguments":{"city":"Bodø"}}}]"#)),
    .init(
        #"{"model":"tiny","created_at":"2025-11-20T10:39:26.49Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":89529612}"#,
        LineSummary(content: "", isDone: true, doneReason: "stop")),
]
