import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Unusual answers of servers with OpenAI's chat completions.
@Suite(.timeLimit(.minutes(30))) struct UnusualOpenAIAnswers {
    @Test(arguments: chunks)
    func chunksAreRead(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    @Test(arguments: calls)
    func callsAreJoinedFromTheirPieces(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    @Test(arguments: ends)
    func onlyAReasonEndsAnAnswer(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    @Test(arguments: errors)
    func errorInAnyShapeIsAnError(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    /// A chunk of a delta, which may have a reason.
    private static func chunk(_ delta: String, _ reason: String? = "null", more: String = "") -> String {
        let finish = reason.map { ",\"finish_reason\":\($0)" } ?? ""
        return "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\","
            + "\"choices\":[{\"index\":0,\"delta\":\(delta)\(finish)}]\(more)}"
    }

    private static func text(_ text: String) -> String { chunk("{\"content\":\(jsonString(text))}") }
    private static func calls(_ calls: String) -> String { chunk("{\"tool_calls\":[\(calls)]}") }
    private static let role = chunk(#"{"role":"assistant","content":null}"#)
    private static let stop = chunk("{}", "\"stop\"")
    private static let callsEnd = chunk("{}", "\"tool_calls\"")
    private static let done = "[DONE]"

    static let chunks: [UnusualCase] = [
        .openAI("only a role", [role, stop, done], .answer()),
        .openAI(
            "content null, empty, and none",
            [chunk("{\"content\":null}"), chunk("{\"content\":\"\"}"), chunk("{}"), text("a"), stop, done], .answer("a")
        ),
        .openAI("delta null", [chunk("null"), text("a"), chunk("null", "\"stop\""), done], .answer("a")),
        .openAI("text beside the reason", [text("a"), chunk("{\"content\":\"b\"}", "\"stop\""), done], .answer("ab")),
        .openAI(
            "an empty reason on every chunk",
            [chunk("{\"content\":\"a\"}", "\"\""), chunk("{\"content\":\"b\"}", "\"\""), stop, done], .answer("ab")),
        .openAI("no reason on any chunk but the last", [chunk("{\"content\":\"a\"}", nil), stop, done], .answer("a")),
        .openAI("two chunks with a reason", [text("a"), stop, stop, done], .answer("a")),
        .openAI(
            "the reason before its key",
            [
                #"{"choices":[{"finish_reason":null,"delta":{"content":"a"},"index":0}]}"#,
                #"{"choices":[{"finish_reason":"stop","delta":{},"index":0}]}"#, done,
            ], .answer("a")),
        .openAI(
            "keys in another order, and delta before all",
            [#"{"choices":[{"delta":{"content":"a"}}]}"#, #"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#],
            .answer("a")),
        .openAI(
            "no choices",
            [
                #"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#, #"{"id":"x"}"#, "{}", text("a"), stop,
                done,
            ],
            .answer("a")),
        .openAI("choices null", [#"{"choices":null}"#, text("a"), stop, done], .answer("a")),
        .openAI(
            "another choice",
            [
                text("a"), #"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#,
                #"{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#, text("b"), stop, done,
            ],
            .answer("ab")),
        .openAI(
            "counts on every chunk",
            [
                chunk("{\"content\":\"a\"}", more: #","usage":{"prompt_tokens":5,"completion_tokens":1}"#),
                chunk("{\"content\":\"b\"}", more: #","usage":{"prompt_tokens":5,"completion_tokens":2}"#),
                chunk("{}", "\"stop\"", more: #","usage":{"prompt_tokens":5,"completion_tokens":3}"#), done,
            ], .answer("ab", prompt: 5, answer: 3)),
        .openAI(
            "counts that are null first",
            [
                chunk("{\"content\":\"a\"}", more: ",\"usage\":null"), stop,
                #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}"#, done,
            ],
            .answer("a", prompt: 5, answer: 3)),
        .openAI(
            "counts before the reason",
            [text("a"), #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#, stop, done],
            .answer("a", prompt: 5, answer: 3)),
        .openAI(
            "half the counts",
            [text("a"), stop, #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":null}}"#, done],
            .answer("a", prompt: 5)),
        .openAI(
            "counts that are none",
            [text("a"), stop, #"{"choices":[],"usage":{"prompt_tokens":"many","completion_tokens":1e400}}"#, done],
            .answer("a")),
        .openAI(
            "numbers of any size and form",
            [
                #"{"created":1.7636351660e9,"id":123456789012345678901234567890,"choices":[{"index":0,"delta":{"content":"a"},"logprobs":-1.5E-300}]}"#,
                stop, done,
            ],
            .answer("a")),
        .openAI(
            "unknown fields",
            [
                #"{"x":{"choices":[{"delta":{"content":"no"}}]},"choices":[{"y":[[{"content":"no"}]],"index":0,"delta":{"z":{"content":"no"},"content":"a","annotations":[]},"content":"no"}],"content":"no"}"#,
                stop, done,
            ], .answer("a")),
        .openAI(
            "names that are escaped", [#"{"ch\u006fices":[{"delta":{"c\u006fntent":"a"}}]}"#, stop, done], .answer("a")),
        .openAI(
            "thinking under its three names",
            [
                chunk(#"{"reasoning":"a"}"#), chunk(#"{"reasoning_content":"b"}"#), chunk(#"{"thinking":"c"}"#), stop,
                done,
            ],
            .answer(thinking: "abc")),
        .openAI(
            "thinking under two names at once",
            [
                chunk(#"{"reasoning":"a","reasoning_content":"a"}"#),
                chunk(#"{"reasoning_content":"b","reasoning":"b"}"#), stop, done,
            ],
            .answer(thinking: "ab")),
        .openAI(
            "thinking that is null or empty",
            [
                chunk(#"{"reasoning":null,"reasoning_content":"a","content":null}"#),
                chunk(#"{"reasoning":"","content":"b"}"#), stop, done,
            ],
            .answer("b", thinking: "a")),
        .openAI(
            "thinking and text in one chunk", [chunk(#"{"content":"b","reasoning":"a"}"#), stop, done],
            .answer("b", thinking: "a")),
        .openAI(
            "thinking, text and a reason in one chunk",
            [chunk(#"{"reasoning":"a","content":"b"}"#, "\"length\""), done],
            .answer("b", thinking: "a", reason: "length")),
        .openAI(
            "a refusal", [role, chunk(#"{"refusal":"I "}"#), chunk(#"{"refusal":"cannot."}"#), stop, done],
            .answer("I cannot.")),
        .openAI(
            "refusal null", [chunk(#"{"content":"a","refusal":null}"#), stop, done], .answer("a")),
        .openAI(
            "a filter", [text("a"), chunk("{}", "\"content_filter\""), done],
            .answer("a", finishReason: "content_filter")),
        .events(
            "no line end after the last event", .openai,
            ["data: \(text("a"))\n\n", "data: \(stop)\n\n", "data: [DONE]"],
            .answer("a")),
        .events(
            "no line end after the reason", .openai, ["data: \(text("a"))\n\n", "data: \(stop)"], .answer("a")),
        .events(
            "events without content", .openai,
            [
                "\n\n\n", "data\n\n", "data:\n\n", "event: ping\n\n", "event: ping\ndata: {}\n\n",
                "data: \(text("a"))\n\n", "data: \(stop)\n\n",
            ],
            .answer("a")),
        .events(
            "other names of events", .openai,
            ["event: chunk\ndata: \(text("a"))\n\n", "event: completion\ndata: \(stop)\n\n"],
            .answer("a")),
    ]

    static let calls: [UnusualCase] = [
        .openAI(
            "two calls at once",
            [
                calls(
                    #"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}},{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}"#
                ),
                calls(#"{"index":1,"function":{"arguments":"{\"y\""}}"#),
                calls(#"{"index":0,"function":{"arguments":"{\"x\":1"}}"#),
                calls(#"{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":"}"}}"#),
                callsEnd, done,
            ],
            .answer(calls: [
                .init(id: "a", name: "f", arguments: #"{"x":1}"#), .init(id: "b", name: "g", arguments: #"{"y":2}"#),
            ])),
        .openAI(
            "no id",
            [calls(#"{"index":0,"type":"function","function":{"name":"f","arguments":"{}"}}"#), callsEnd, done],
            .answer(calls: [.init(name: "f", arguments: "{}")])),
        .openAI(
            "an id on every piece",
            [
                calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#),
                calls(#"{"index":0,"id":"a","function":{"arguments":":1}"}}"#), callsEnd, done,
            ], .answer(calls: [.init(id: "a", name: "f", arguments: #"{"x":1}"#)])),
        .openAI(
            "id and name null on later pieces",
            [
                calls(#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#),
                calls(#"{"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{}"}}"#), callsEnd, done,
            ], .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "id and name empty on later pieces",
            [
                calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#),
                calls(#"{"index":0,"id":"","function":{"name":"","arguments":"}"}}"#), callsEnd, done,
            ], .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "empty arguments",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "no arguments", [calls(#"{"index":0,"id":"a","function":{"name":"f"}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "arguments null",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":null}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "arguments that are an object",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":{"b":1,"a":[2]}}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: #"{"b":1,"a":[2]}"#)])),
        .openAI(
            "no index",
            [calls(#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "white space around arguments",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":" \n{ \"x\" : 1 }\n"}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: #"{"x":1}"#)])),
        .openAI(
            "arguments cut within an escape",
            [
                calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"\\u00"}}"#),
                calls(#"{"index":0,"function":{"arguments":"e9\\ud83d"}}"#),
                calls(#"{"index":0,"function":{"arguments":"\\ude00\\\"\"}"}}"#), callsEnd, done,
            ], .answer(calls: [.init(id: "a", name: "f", arguments: "{\"x\":\"é\u{1F600}\\\"\"}")])),
        .openAI(
            "calls beside text and thinking",
            [
                chunk(
                    #"{"content":"b","reasoning":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#
                ), callsEnd, done,
            ],
            .answer("b", thinking: "a", calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "calls beside the reason",
            [
                chunk(
                    #"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#, "\"tool_calls\""
                ), done,
            ],
            .answer(calls: [.init(id: "a", name: "f", arguments: "{}")])),
        .openAI(
            "no calls, but a reason that says so", [text("a"), callsEnd, done], .answer("a")),
        .openAI(
            "calls null or empty",
            [chunk(#"{"content":"a","tool_calls":null}"#), chunk(#"{"tool_calls":[]}"#), stop, done], .answer("a")),
        .openAI(
            "arguments that are no JSON",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{x:1}"}}"#), callsEnd, done],
            .answer(calls: [.init(id: "a", name: "f", arguments: #"{"arguments":"{x:1}"}"#)])),
        .openAI(
            "arguments that are not finished",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#), callsEnd, done],
            .failure(.malformed)),
        .openAI(
            "a call without a name", [calls(#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#), callsEnd, done],
            .failure(.malformed)),
        .openAI(
            "calls without an end",
            [calls(#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#), done],
            .failure(.incomplete)),
    ]

    static let ends: [UnusualCase] = [
        .openAI("the mark of the end only", [done], .failure(.incomplete)),
        .openAI("a role, then the mark of the end", [role, done], .failure(.incomplete)),
        .openAI(
            "empty reasons, then the mark of the end", [chunk("{\"content\":\"a\"}", "\"\""), done],
            .failure(.incomplete, after: "a")),
        .openAI(
            "counts, and no reason",
            [text("a"), #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#, done],
            .failure(.incomplete, after: "a")),
        .openAI(
            "events after the mark of the end", [text("a"), stop, done, text("no"), done, "garbage"], .answer("a")),
        .openAI("the mark of the end twice", [text("a"), stop, done, done], .answer("a")),
        .events("comments only", .openai, [": ping\n\n", ": ping\n\n"], .failure(.incomplete)),
        .events("no events", .openai, ["hello\n", "world\n\n"], .failure(.incomplete)),
        .openAI("no JSON", [text("a"), "garbage", stop, done], .failure(.malformed, after: "a")),
        .openAI("a list", [text("a"), "[]", stop, done], .failure(.malformed, after: "a")),
        .openAI(
            "JSON that is cut", [text("a"), #"{"choices":[{"delta":{"content":"b"#, stop, done],
            .failure(.malformed, after: "a")),
        UnusualCase(
            "a page", .openai, .plain(200, "<html>hello</html>", type: "text/html"), .failure(.malformed)),
        UnusualCase(
            "an empty body with a length", .openai, .plain(200, "", type: "text/event-stream"), .failure(.incomplete)),
        UnusualCase(
            "an error and 200, and no stream", .openai, .plain(200, #"{"error":{"message":"the words"}}"#),
            .failure(.failed, "the words")),
    ]

    static let errors: [UnusualCase] =
        ErrorShape.all.filter { $0.type == "application/json" }.flatMap { shape -> [UnusualCase] in
            let error = shape.body("the words")
            return [
                .openAI("\(shape.name): first", [error], .failure(.failed, "the words")),
                .openAI("\(shape.name): first, then the mark", [error, done], .failure(.failed, "the words")),
                .openAI(
                    "\(shape.name): in the middle", [role, text("a"), error], .failure(.failed, "the words", after: "a")
                ),
                .openAI(
                    "\(shape.name): then the mark", [text("a"), error, done], .failure(.failed, "the words", after: "a")
                ),
                .openAI(
                    "\(shape.name): then a reason", [text("a"), error, stop, done],
                    .failure(.failed, "the words", after: "a")),
                .events(
                    "\(shape.name): an event of that name", .openai,
                    ["data: \(text("a"))\n\n", "event: error\ndata: \(error)\n\n"],
                    .failure(.failed, "the words", after: "a")),
            ]
        } + [
            .events(
                "a line that begins with error", .openai,
                [
                    "data: \(text("a"))\n\n",
                    "error: {\"code\":500,\"message\":\"the words\",\"type\":\"server_error\"}\n\n",
                ],
                .failure(.failed, "the words", after: "a")),
            .openAI("error null", [chunk(#"{"content":"a"}"#, more: ",\"error\":null"), stop, done], .answer("a")),
            .openAI(
                "an error without words", [text("a"), #"{"error":{"message":null}}"#, done],
                .failure(.failed, after: "a")),
            .openAI(
                "an error beside choices",
                [text("a"), chunk("{}", "\"error\"", more: #","error":{"code":502,"message":"the words"}"#)],
                .failure(.failed, "the words", after: "a")),
            .events(
                "an error without a line end", .openai,
                ["data: \(text("a"))\n\n", #"data: {"error":{"message":"the words"}}"#],
                .failure(.failed, "the words", after: "a")),
        ]
}
