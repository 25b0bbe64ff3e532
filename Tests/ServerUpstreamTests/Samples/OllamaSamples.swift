/// Ollama 0.32.15, `/api/chat`. Elided ids, times and counts are filled in.
let ollamaSamples = SampleServer(
    "Ollama 0.32", kind: "ollama",
    [
        Sample(
            ollama: "text",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"Hello! "},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":261237533,"load_duration":256496426,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":13,"eval_duration":1959000}"#,
            ids: ["7", "7-end"], text: "Hello! "),
        Sample(
            ollama: "thinking",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"","thinking":"wants "},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":"Hello! "},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.49165766Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":60385550,"load_duration":20385550,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":13,"eval_duration":1959000}"#,
            ids: ["0.6", "7.6", "7.6-end"], text: "Hello! ", thinking: "wants "),
        Sample(
            ollama: "a tool call in the last line",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"0YY9Qm2x","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]},"done":true,"done_reason":"stop","total_duration":60385550,"load_duration":20385550,"prompt_eval_count":161,"prompt_eval_duration":841000,"eval_count":26,"eval_duration":1959000}"#,
            ids: ["0.0.106-end"],
            extras:
                #""tool_calls":[{"id":"0YY9Qm2x","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo","unit":"celsius"}}}]"#
        ),
        Sample(
            ollama: "as far as it may go",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"dum, "},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"length","total_duration":261237533,"load_duration":256496426,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":40960,"eval_duration":1959000}"#,
            ids: ["5", "5-end"], text: "dum, "),
        Sample(
            ollama: "load",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}"#,
            ids: ["0-end"]),
        Sample(
            ollama: "unload",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"unload"}"#,
            ids: ["0-end"]),
        Sample(
            ollama: "characters that Go escapes",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":"\u003cb\u003e \u0026 \u2028\u2029 �"},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":60385550,"load_duration":20385550,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":7,"eval_duration":1959000}"#,
            ids: ["16", "16-end"], text: "<b> & \u{2028}\u{2029} \u{FFFD}"),
        Sample(
            ollama: "a NUL",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":"a\u0000b"},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":60385550,"load_duration":20385550,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":3,"eval_duration":1959000}"#,
            events: [
                .line(
                    "5",
                    #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4915229Z","message":{"role":"assistant","content":"a\ufffdb"},"done":false}"#
                ),
                .line(
                    "5-end",
                    #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":60385550,"load_duration":20385550,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":3,"eval_duration":1959000}"#
                ),
            ], text: "a\u{FFFD}b"),
        Sample(
            ollama: "a runner that is killed",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"56, "},"done":false}"#,
            #"{"error":"an error was encountered while running the model: unexpected EOF"}"#,
            ids: ["4"],
            end: .error("upstream_error", "an error was encountered while running the model: unexpected EOF"),
            text: "56, "),
        Sample(
            ollama: "a server that is killed",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"56, "},"done":false}"#,
            isCut: true, ids: ["4"],
            end: .broken, text: "56, "),
        Sample(
            ollama: 404, #"{"error":"model 'no-such-model' not found"}"#,
            .error("model_not_found", "model 'no-such-model' not found", retryable: false)),
        Sample(
            ollama: 400, #"{"error":"model is required"}"#,
            .error("upstream_rejected", "model is required", retryable: false)),
        Sample(
            ollama: 400, #"{"error":"invalid model name"}"#,
            .error("model_not_found", "invalid model name", retryable: false)),
        Sample(
            ollama: 400, #"{"error":"unexpected EOF"}"#,
            .error("upstream_rejected", "unexpected EOF", retryable: false)),
        Sample(
            ollama: 400, #"{"error":"missing request body"}"#,
            .error("upstream_rejected", "missing request body", retryable: false)),
        Sample(
            ollama: 400,
            #"{"error":"json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string"}"#,
            .error(
                "upstream_rejected",
                "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
                retryable: false)),
        Sample(
            ollama: 500, #"{"error":"option \"temperature\" must be of type float32"}"#,
            .error("upstream_rejected", #"option "temperature" must be of type float32"#, retryable: false)),
        Sample(
            ollama: 400,
            #"{"error":"invalid think value: \"banana\" (must be \"high\", \"medium\", \"low\", \"max\", true, or false)"}"#,
            .error(
                "upstream_rejected",
                #"invalid think value: "banana" (must be "high", "medium", "low", "max", true, or false)"#,
                retryable: false)),
        Sample(
            ollama: 400,
            #"{"error":"{\"error\":{\"code\":400,\"message\":\"request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":28015,\"n_ctx\":4096}}"}"#,
            .error(
                "context_too_long",
                "request (28015 tokens) exceeds the available context size (4096 tokens), try increasing it",
                retryable: false)),
        Sample(
            ollama: 503, #"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
            .error("upstream_busy", "server busy, please try again.  maximum pending requests exceeded")),
        Sample(
            ollama: 404, "404 page not found", type: "text/plain",
            .error(
                "upstream_rejected", "The model server does not know /api/chat: is it an Ollama server?",
                retryable: false)),
        Sample(
            ollama: 405, "405 method not allowed", type: "text/plain",
            .error(
                "upstream_rejected", "The model server refused the request with status 405.", retryable: false)),
        Sample(
            ollama: 403, "",
            .refused),
    ])

/// Ollama 0.11.11, where it differs.
let oldOllamaSamples = SampleServer(
    "Ollama 0.11", kind: "ollama",
    [
        Sample(
            ollama: "text",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"Hello! "},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":89529612,"load_duration":56496426,"prompt_eval_count":18,"prompt_eval_duration":841000,"eval_count":13,"eval_duration":1959000}"#,
            ids: ["7", "7-end"], text: "Hello! "),
        Sample(
            ollama: "tool calls, each in a line",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Bergen"}}}]},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.4913Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":1,"name":"get_weather","arguments":{"city":"Bodø"}}}]},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":89529612,"load_duration":56496426,"prompt_eval_count":161,"prompt_eval_duration":841000,"eval_count":42,"eval_duration":1959000}"#,
            ids: ["0.0.65", "0.0.140", "0.0.140-end"],
            extras:
                #""tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Bergen"}}},{"function":{"index":1,"name":"get_weather","arguments":{"city":"Bodø"}}}]"#
        ),
        Sample(
            ollama: "thoughts in the text",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"\u003cthink\u003ehm\u003c/think\u003e"},"done":false}"#,
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491657661Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":89529612,"load_duration":56496426,"prompt_eval_count":4096,"prompt_eval_duration":841000,"eval_count":13,"eval_duration":1959000}"#,
            ids: ["17", "17-end"], text: "<think>hm</think>"),
        Sample(
            ollama: "a runner that is killed",
            #"{"model":"tiny","created_at":"2026-11-20T10:39:26.491288961Z","message":{"role":"assistant","content":"56, "},"done":false}"#,
            #"{"error":"an error was encountered while running the model: unexpected EOF"}"#,
            ids: ["4"],
            end: .error("upstream_error", "an error was encountered while running the model: unexpected EOF"),
            text: "56, "),
        Sample(
            ollama: 404, #"{"error":"model \"x\" not found, try pulling it first"}"#,
            .error("model_not_found", #"model "x" not found, try pulling it first"#, retryable: false)),
    ])

extension Sample {
    /// Lines on a stream, each in a separate chunk.
    fileprivate init(
        ollama name: String, _ lines: String..., isCut: Bool = false, ids: [String] = [], events: [Event]? = nil,
        end: End = .done, text: String = "", thinking: String? = nil, extras: String? = nil
    ) {
        self.init(
            name: name, contentType: "application/x-ndjson", chunks: lines.map { $0 + "\n" }, isCut: isCut,
            events: events ?? ids.map { .line($0) }, end: end, text: text, thinking: thinking, extras: extras)
    }

    /// An error before the stream.
    fileprivate init(
        ollama status: Int, _ body: String, type: String = "application/json; charset=utf-8", _ end: End
    ) {
        self.init(
            name: "\(status) \(body)", status: status, contentType: type, chunks: body.isEmpty ? [] : [body], end: end)
    }
}
