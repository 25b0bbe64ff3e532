import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Unusual answers of Llama Stack's native API.
@Suite(.timeLimit(.minutes(30))) struct UnusualLlamaStackAnswers {
    @Test(arguments: answers)
    func eventsAreRead(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    @Test(arguments: failures)
    func failureIsNoAnswer(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    private static func event(
        _ type: String, _ delta: String, reason: String = "null", metrics: String = "null"
    ) -> String {
        "{\"event\":{\"event_type\":\"\(type)\",\"delta\":\(delta),\"logprobs\":null,\"stop_reason\":\(reason)},\"metrics\":\(metrics)}"
    }

    private static func delta(_ text: String) -> String { "{\"type\":\"text\",\"text\":\(jsonString(text))}" }
    private static func text(_ text: String) -> String { event("progress", delta(text)) }
    private static func end(_ reason: String = "\"end_of_turn\"", text: String = "", metrics: String = "null") -> String
    {
        event("complete", delta(text), reason: reason, metrics: metrics)
    }

    private static func call(_ call: String, _ status: String = "succeeded") -> String {
        event("progress", "{\"type\":\"tool_call\",\"tool_call\":\(call),\"parse_status\":\"\(status)\"}")
    }

    private static let start = event("start", delta(""))
    private static let whole =
        #"{"call_id":"a","tool_name":"f","arguments":{"b":1,"a":2},"arguments_json":"{\"b\": 1, \"a\": 2}"}"#
    private static let heardCall = ReceivedAnswer.Call(id: "a", name: "f", arguments: #"{"b":1,"a":2}"#)

    static let answers: [UnusualCase] = [
        .llamaStack("a start and an end", [start, end()], .answer()),
        .llamaStack("no start", [text("a"), end()], .answer("a")),
        .llamaStack(
            "text at the start and at the end", [event("start", delta("a")), text("b"), end(text: "c")], .answer("abc")),
        .llamaStack("no reason", [text("a"), end("null")], .answer("a")),
        .llamaStack("events after the end", [text("a"), end(), text("no"), "[DONE]", "garbage"], .answer("a")),
        .llamaStack(
            "unknown fields",
            [
                #"{"x":{"event":{"delta":{"text":"no"}}},"event":{"y":[{"text":"no"}],"event_type":"progress","delta":{"z":"no","text":"a","type":"text"}}}"#,
                end(),
            ], .answer("a")),
        .llamaStack(
            "counts in another order, with others",
            [
                text("a"),
                end(
                    metrics:
                        #"[{"unit":null,"value":7,"metric":"completion_tokens"},{"metric":"x","value":1.5},{"value":5,"metric":"prompt_tokens"},null]"#
                ),
            ], .answer("a", prompt: 5, answer: 7)),
        .llamaStack("no counts", [text("a"), end(metrics: "[]")], .answer("a")),
        .llamaStack(
            "a call in pieces, then whole",
            [
                start, call("\"\"", "started"), call(#""{\"na""#, "in_progress"), call(#""me\"""#, "in_progress"),
                call(whole), end("\"end_of_message\""),
            ],
            .answer(calls: [heardCall])),
        .llamaStack("a call and the end of the turn", [call(whole), end()], .answer(calls: [heardCall])),
        .llamaStack(
            "two calls and text",
            [text("a"), call(whole), call(#"{"call_id":"b","tool_name":"g","arguments":{}}"#), end()],
            .answer("a", calls: [heardCall, .init(id: "b", name: "g", arguments: "{}")])),
        .llamaStack(
            "no id", [call(#"{"tool_name":"f","arguments":{"b":1,"a":2}}"#), end()],
            .answer(calls: [.init(name: "f", arguments: #"{"b":1,"a":2}"#)])),
        .llamaStack(
            "arguments that are text",
            [call(#"{"call_id":"a","tool_name":"f","arguments":"{\"b\":1,\"a\":2}"}"#), end()],
            .answer(calls: [heardCall])),
        .llamaStack(
            "a call in pieces that the limit cuts",
            [call(whole), call("\"\"", "started"), call(#""{\"na""#, "in_progress"), end("\"out_of_tokens\"")],
            .answer(calls: [heardCall], reason: "length")),
        .llamaStack(
            "a call that the limit cuts so that it cannot be read",
            [text("a"), call(#""f(\"""#, "failed"), end("\"out_of_tokens\"")], .answer("a", reason: "length")),
        .llamaStack(
            "a call whose arguments the limit cuts",
            [call(#"{"call_id":"a","tool_name":"f","arguments":"{\"b\":"}"#), end("\"out_of_tokens\"")],
            .answer(reason: "length")),
        .llamaStack(
            "a call that looks whole where the limit cuts it",
            [call(whole), call(#"{"call_id":"b","tool_name":"g","arguments":{}}"#), end("\"out_of_tokens\"")],
            .answer(calls: [heardCall], reason: "length")),
        .llamaStack(
            "a call, and text that the limit cuts", [call(whole), text("a"), end("\"out_of_tokens\"")],
            .answer("a", calls: [heardCall], reason: "length")),
        .events(
            "events without content", .llamastack,
            ["\n\n", "data\n\n", "data:\n\n", ": ping\n\n", "data: \(text("a"))\n\n", "data: \(end())\n\n"],
            .answer("a")),
        .events("no line end after the end", .llamastack, ["data: \(text("a"))\n\n", "data: \(end())"], .answer("a")),
    ]

    static let failures: [UnusualCase] = [
        .llamaStack("a start only", [start], .failure(.incomplete)),
        .llamaStack(
            "a reason, but no end", [event("progress", delta("a"), reason: "\"end_of_turn\"")],
            .failure(.incomplete, after: "a")),
        .llamaStack("a call that is not finished", [call("\"{\"", "in_progress"), end()], .failure(.malformed)),
        .llamaStack(
            "a call that was not understood", [text("a"), call("\"f(\"", "failed"), end()],
            .failure(.malformed, after: "a")),
        .llamaStack(
            "a call that was not understood, and another",
            [call("\"f(\"", "failed"), call(whole), end("\"out_of_tokens\"")], .failure(.malformed)),
        .llamaStack("a call without a name", [call(#"{"call_id":"a","arguments":{}}"#), end()], .failure(.malformed)),
        .llamaStack(
            "arguments that are no object", [call(#"{"call_id":"a","tool_name":"f","arguments":"[1"}"#), end()],
            .failure(.malformed)),
        .llamaStack(
            "a picture", [event("progress", #"{"type":"image","image":"aGk="}"#), end()], .failure(.malformed)),
        .llamaStack("no JSON", [text("a"), "garbage", end()], .failure(.malformed, after: "a")),
        .llamaStack(
            "an unknown model", [#"{"error": {"message": "400: Invalid value: Model 'nope' not found"}}"#],
            .failure(.modelNotFound, "Model 'nope' not found")),
        .llamaStack(
            "a value that is refused", [#"{"error": {"message": "400: Invalid value: temperature"}}"#],
            .failure(.rejected, "Invalid value")),
        .llamaStack(
            "a key that is refused", [#"{"error": {"message": "401: Invalid API Key"}}"#], .failure(.unauthorized)),
        .llamaStack(
            "too many requests", [#"{"error": {"message": "429: Too many requests"}}"#], .failure(.busy, "Too many")),
        .llamaStack(
            "a prompt that is too long",
            [
                #"{"error": {"message": "400: This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."}}"#
            ],
            .failure(.contextTooLong, "maximum context length")),
        .llamaStack(
            "a failure in the middle",
            [
                start, text("a"),
                #"{"error": {"message": "500: Internal server error: An unexpected error occurred."}}"#,
            ],
            .failure(.failed, "Internal server error", after: "a")),
        .llamaStack(
            "a detail in error", [text("a"), #"{"error":{"detail":"the words"}}"#],
            .failure(.failed, "the words", after: "a")),
        .llamaStack("a detail", [#"{"detail":"the words"}"#], .failure(.failed, "the words")),
        .llamaStack("text for an error", [#"{"error":"the words"}"#, end()], .failure(.failed, "the words")),
        UnusualCase("an empty body", .llamastack, .plain(200, "", type: "text/event-stream"), .failure(.incomplete)),
        UnusualCase("a page", .llamastack, .plain(200, "<html>hello</html>", type: "text/html"), .failure(.malformed)),
    ]
}
