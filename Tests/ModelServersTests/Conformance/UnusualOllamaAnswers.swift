import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// Unusual answers of Ollama's API, and of servers that imitate it.
@Suite(.timeLimit(.minutes(30))) struct UnusualOllamaAnswers {
    @Test(arguments: answers)
    func linesAreRead(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    @Test(arguments: errors)
    func errorInAnyShapeIsAnError(_ unusual: UnusualCase) async throws {
        try await unusual.check()
    }

    private static func unusual(_ name: String, _ lines: [String], _ expected: ReceivedAnswer) -> UnusualCase {
        UnusualCase(name, .ollama, .lines(lines), expected)
    }

    private static func line(_ message: String, _ more: String = "\"done\":false") -> String {
        "{\"model\":\"m\",\"created_at\":\"\(ModelLine.time)\",\"message\":{\"role\":\"assistant\",\(message)},\(more)}\n"
    }

    private static let text = line("\"content\":\"a\"")
    private static let done = line("\"content\":\"\"", "\"done\":true,\"done_reason\":\"stop\"")

    private static let cut = "\"done\":true,\"done_reason\":\"length\""

    private static func call(_ name: String, at index: Int = 0, beside text: String = "") -> String {
        line(#""content":"\#(text)","tool_calls":[{"function":{"index":\#(index),"name":"\#(name)","arguments":{}}}]"#)
    }

    static let answers: [UnusualCase] = [
        unusual(
            "text in the last line", [line("\"content\":\"a\"", "\"done\":true,\"done_reason\":\"length\"")],
            .answer("a", reason: "length")),
        unusual(
            "thinking and text in one line", [line("\"content\":\"b\",\"thinking\":\"a\""), done],
            .answer("b", thinking: "a")),
        unusual(
            "calls before the last line and in it",
            [
                line(#""content":"","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]"#),
                line(
                    #""content":"","tool_calls":[{"id":"x","function":{"index":1,"name":"g","arguments":{}}}]"#,
                    "\"done\":true,\"done_reason\":\"stop\""),
            ],
            .answer(calls: [.init(name: "f", arguments: #"{"b":1,"a":2}"#), .init(id: "x", name: "g", arguments: "{}")])
        ),
        unusual(
            "calls, then text that the limit cuts",
            [call("f"), line("\"content\":\"\""), text, line("\"content\":\"\"", cut)],
            .answer("a", calls: [.init(name: "f", arguments: "{}")], reason: "length")),
        unusual(
            "a call that the limit cuts",
            [call("f"), call("g", at: 1), line("\"content\":\"\""), line("\"content\":\"\"", cut)],
            .answer(calls: [.init(name: "f", arguments: "{}")], reason: "length")),
        unusual(
            "a call that the limit cuts, in the last line",
            [
                text, call("f"),
                line(
                    #""tool_calls":[{"function":{"index":1,"name":"g","arguments":{}}} , {"function":{"name":"h"}}],"content":"""#,
                    cut),
            ],
            .answer(
                "a", calls: [.init(name: "f", arguments: "{}"), .init(name: "g", arguments: "{}")], reason: "length")),
        unusual(
            "a call that the limit cuts, the only one", [call("f", beside: "a"), line("\"content\":\"\"", cut)],
            .answer("a", reason: "length")),
        unusual(
            "no calls, with blanks between the brackets",
            [
                line("\"content\":\"a\",\"tool_calls\":[ ]"), call("f"), line("\"content\":\"\",\"tool_calls\":[\t]"),
                done,
            ],
            .answer("a", calls: [.init(name: "f", arguments: "{}")])),
        unusual(
            "keys in any order, with others among them",
            [
                #"{"done":false,"x":{"message":{"content":"no"}},"message":{"y":["no"],"content":"a","role":"assistant"},"remote_model":"r","created_at":"c","model":"m"}"#
                    + "\n",
                done,
            ], .answer("a")),
        unusual("a key twice", [line("\"content\":\"no\",\"content\":\"a\""), done], .answer("a")),
        unusual(
            "names that are escaped", [#"{"m\u0065ssage":{"c\u006fntent":"a"},"done":false}"# + "\n", done],
            .answer("a")),
        unusual(
            "only the necessary members",
            ["{\"message\":{\"content\":\"a\"},\"done\":false}\n", "{\"done\":true,\"done_reason\":\"stop\"}\n"],
            .answer("a")),
        unusual(
            "error null or empty",
            [
                line("\"content\":\"a\"", "\"done\":false,\"error\":null"),
                line("\"content\":\"b\"", "\"done\":false,\"error\":\"\""), done,
            ], .answer("ab")),
        unusual(
            "numbers of any size and form",
            [
                line(
                    "\"content\":\"a\"",
                    #""done":true,"done_reason":"stop","total_duration":9007199254740993,"load_duration":1.5e300,"prompt_eval_count":5,"eval_count":123456789012345678901234567890"#
                )
            ], .answer("a", prompt: 5)),
    ]

    static let errors: [UnusualCase] = ErrorShape.all.filter { $0.body("").contains("\"error\":") }.flatMap { shape in
        let error = shape.body("the words")
        return [
            unusual("\(shape.name): first", [error + "\n"], .failure(.failed, "the words")),
            unusual("\(shape.name): in the middle", [text, error + "\n"], .failure(.failed, "the words", after: "a")),
            unusual("\(shape.name): without a line end", [text, error], .failure(.failed, "the words", after: "a")),
            unusual(
                "\(shape.name): then the end", [text, error + "\n", done], .failure(.failed, "the words", after: "a")),
        ]
    }
}
