import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// What Ollama's own API, and what passes for it, writes now and then.
@Suite(.timeLimit(.minutes(30))) struct OllamaOddities {
    @Test(arguments: answers)
    func linesAreReadForWhatTheySay(_ odd: OddCase) async throws {
        try await odd.check()
    }

    @Test(arguments: errors)
    func anErrorInAnyShapeIsAnError(_ odd: OddCase) async throws {
        try await odd.check()
    }

    private static func odd(_ name: String, _ lines: [String], _ expected: Heard) -> OddCase {
        OddCase(name, .ollama, .lines(lines), expected)
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

    static let answers: [OddCase] = [
        odd(
            "text in the last line", [line("\"content\":\"a\"", "\"done\":true,\"done_reason\":\"length\"")],
            .answer("a", reason: "length")),
        odd(
            "thinking and text in one line", [line("\"content\":\"b\",\"thinking\":\"a\""), done],
            .answer("b", thinking: "a")),
        odd(
            "calls before the last line and in it",
            [
                line(#""content":"","tool_calls":[{"function":{"name":"f","arguments":{"b":1,"a":2}}}]"#),
                line(
                    #""content":"","tool_calls":[{"id":"x","function":{"index":1,"name":"g","arguments":{}}}]"#,
                    "\"done\":true,\"done_reason\":\"stop\""),
            ],
            .answer(calls: [.init(name: "f", arguments: #"{"b":1,"a":2}"#), .init(id: "x", name: "g", arguments: "{}")])
        ),
        odd(
            "calls, then text that the limit cuts",
            [call("f"), line("\"content\":\"\""), text, line("\"content\":\"\"", cut)],
            .answer("a", calls: [.init(name: "f", arguments: "{}")], reason: "length")),
        odd(
            "a call that the limit cuts",
            [call("f"), call("g", at: 1), line("\"content\":\"\""), line("\"content\":\"\"", cut)],
            .answer(calls: [.init(name: "f", arguments: "{}")], reason: "length")),
        odd(
            "a call that the limit cuts, in the last line",
            [
                text, call("f"),
                line(
                    #""tool_calls":[{"function":{"index":1,"name":"g","arguments":{}}} , {"function":{"name":"h"}}],"content":"""#,
                    cut),
            ],
            .answer(
                "a", calls: [.init(name: "f", arguments: "{}"), .init(name: "g", arguments: "{}")], reason: "length")),
        odd(
            "a call that the limit cuts, the only one", [call("f", beside: "a"), line("\"content\":\"\"", cut)],
            .answer("a", reason: "length")),
        odd(
            "no calls, with blanks between the brackets",
            [
                line("\"content\":\"a\",\"tool_calls\":[ ]"), call("f"), line("\"content\":\"\",\"tool_calls\":[\t]"),
                done,
            ],
            .answer("a", calls: [.init(name: "f", arguments: "{}")])),
        odd(
            "keys in any order, with others among them",
            [
                #"{"done":false,"x":{"message":{"content":"no"}},"message":{"y":["no"],"content":"a","role":"assistant"},"remote_model":"r","created_at":"c","model":"m"}"#
                    + "\n",
                done,
            ], .answer("a")),
        odd("a key twice", [line("\"content\":\"no\",\"content\":\"a\""), done], .answer("a")),
        odd(
            "names that are escaped", [#"{"m\u0065ssage":{"c\u006fntent":"a"},"done":false}"# + "\n", done],
            .answer("a")),
        odd(
            "nothing but what is needed",
            ["{\"message\":{\"content\":\"a\"},\"done\":false}\n", "{\"done\":true,\"done_reason\":\"stop\"}\n"],
            .answer("a")),
        odd(
            "error null or empty",
            [
                line("\"content\":\"a\"", "\"done\":false,\"error\":null"),
                line("\"content\":\"b\"", "\"done\":false,\"error\":\"\""), done,
            ], .answer("ab")),
        odd(
            "numbers of any size and form",
            [
                line(
                    "\"content\":\"a\"",
                    #""done":true,"done_reason":"stop","total_duration":9007199254740993,"load_duration":1.5e300,"prompt_eval_count":5,"eval_count":123456789012345678901234567890"#
                )
            ], .answer("a", prompt: 5)),
    ]

    static let errors: [OddCase] = ErrorShape.all.filter { $0.body("").contains("\"error\":") }.flatMap { shape in
        let error = shape.body("the words")
        return [
            odd("\(shape.name): first", [error + "\n"], .failure(.failed, "the words")),
            odd("\(shape.name): in the middle", [text, error + "\n"], .failure(.failed, "the words", after: "a")),
            odd("\(shape.name): without a line end", [text, error], .failure(.failed, "the words", after: "a")),
            odd("\(shape.name): then the end", [text, error + "\n", done], .failure(.failed, "the words", after: "a")),
        ]
    }
}
