extension ConformanceCase {
    private static let oslo = ModelOutput.Call(
        "get_weather", "{", "\"city\": \"Oslo\",", " \"unit\": \"celsius\"}", id: "a1")
    private static let bergen = ModelOutput.Call("get_weather", "{\"city\":", " \"Bergen\"}", id: "b2")

    /// Text, thinking and calls.
    static let answers: [ConformanceCase] = [
        .init("a text", [.text("Hello! "), .text("How can "), .text("I help?")]),
        .init("a text of one piece", [.text("Hello!")]),
        .init("no text", []),
        .init("empty pieces", [.text(""), .text("a"), .text(""), .text("b")]),
        .init("as far as it may go", [.text("56, "), .text("57, ")], .finished(.length)),
        .init("a text that is not shown", [.text("Once ")], .finished(.filter)),
        .init("thinking before text", [.thinking("wants "), .thinking("help"), .text("Hello!")]),
        .init("thinking only", [.thinking("hm")]),
        .init("thinking cut by its length", [.thinking("hm")], .finished(.length)),
        .init("thinking between texts", [.text("a"), .thinking("hm"), .text("b")]),
        .init("a call", [.calls([oslo])], .finished(.toolCalls)),
        .init("two calls", [.calls([oslo, bergen])], .finished(.toolCalls)),
        .init("text, then a call", [.text("Let me see. "), .calls([oslo])], .finished(.toolCalls)),
        .init(
            "thinking, text, then calls", [.thinking("hm"), .text("Well."), .calls([oslo, bergen])],
            .finished(.toolCalls)),
        .init("calls, and a reason that does not say so", [.calls([oslo, bergen])], .finished(.stop)),
        .init("a call without arguments", [.calls([.init("now", "{}", id: "c3")])], .finished(.toolCalls)),
        .init(
            "keys in their order",
            [.calls([.init("f", #"{"z":1,"a":{"y":[2,{"x":null,"b":true}],"c":"d"},"m":-0.5e+3}"#, id: "d4")])],
            .finished(.toolCalls)),
        .init(
            "arguments in small pieces",
            [
                .calls([
                    .init("f", "{\"", "a", "\":\"\\", "\"é\u{1F600}", "\\n\"", ",\"b\"", ":[", "1", "2]", "}", id: "e5")
                ])
            ],
            .finished(.toolCalls)),
        .init(
            "arguments with numbers beyond 2^53",
            [.calls([.init("f", #"{"n":9007199254740993,"x":123456789012345678901234567890}"#, id: "f6")])],
            .finished(.toolCalls)),
        .init("no counts", [.text("a")], usage: nil),
        .init("counts beyond 2^31", [.text("a")], usage: .init(prompt: 2_147_483_648, answer: 4_294_967_297)),
        .init(
            "counts up to 2^53", [.text("a")],
            usage: .init(prompt: 9_007_199_254_740_991, answer: 9_007_199_254_740_992)),
        .init("a thousand pieces", (0..<1000).map { .text(.init("t\($0) ")) }),
        .init("a piece of 200 KB", [.text(.init(String(repeating: "0123456789 é\n", count: 16_000)))]),
    ]

    /// Texts that look like something else on the wire, and texts that cannot be stored as they are.
    static let texts: [ConformanceCase] = [
        .init("the mark of the end as text", [.text("[DONE]"), .text("data: [DONE]"), .text("\n\ndata: [DONE]\n\n")]),
        .init(
            "an event as text",
            [.text("data: x"), .text("\n\n"), .text("event: error\ndata: {\"error\":\"x\"}\n\n"), .text(": x")]),
        .init(
            "an object as text",
            [.text(#"{"error":{"message":"x"}}"#), .text(#"","finish_reason":"stop""#), .text("}]}")]),
        .init("white space", [.text(" "), .text("\n"), .text("\n\n"), .text("\r\n"), .text("\t")]),
        .init("a page", [.text("</script>"), .text("<b>&amp;</b>")]),
        .init("line separators", [.text("a\u{2028}b\u{2029}c\u{85}d"), .text(.init("\u{2028}", spelled: "\u{2028}"))]),
        .init(
            "quotes and backslashes",
            [.text("\"\\\"\\\\"), .text(.init("/\u{8}\u{c}", spelled: #"\/\b\f"#)), .text("\u{1B}[0m")]),
        .init("beyond ASCII", [.text("é"), .text("\u{1F600}"), .text("日本"), .text("\u{FEFF}"), .text("e\u{301}")]),
        .init("escapes beyond ASCII", [.text(.init("é\u{1F600}", spelled: #"\u00e9\ud83d\uDE00"#))]),
        .init("a NUL", [.text(.init("a\u{FFFD}b", spelled: #"a\u0000b"#)), .text("c")]),
        .init(
            "halves of a pair",
            [
                .text(.init("\u{FFFD}", spelled: #"\ud83d"#)), .text(.init("\u{FFFD}x", spelled: #"\ude00x"#)),
                .text(.init("a\u{FFFD}\u{FFFD}b", spelled: #"a\udc00\ud800b"#)),
            ]),
        .init("a NUL in thoughts", [.thinking(.init("a\u{FFFD}", spelled: #"a\u0000"#)), .text("b")]),
        .init(
            "a NUL in arguments", [.calls([.init("f", #"{"a":"x\u0000\ud800"}"#, id: "g7")])], .finished(.toolCalls)),
        .init("thoughts in the text", [.text("<think>"), .text("hm"), .text("</think>\n\n"), .text("Hello")]),
        .init("a call in the text", [.text("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>")]),
    ]

    /// Incomplete ends, and errors in the middle.
    static let ends: [ConformanceCase] = [
        .init("an empty body", [], .silent),
        .init("an end without a reason", [.text("2, ")], .silent),
        .init("thinking, and an end without a reason", [.thinking("hm")], .silent),
        .init("calls, and an end without a reason", [.calls([oslo])], .silent),
        .init("the mark of the end without a reason", [.text("2, ")], .unexplained),
        .init("only the mark of the end", [], .unexplained),
        .init("a connection that breaks", [.text("2, ")], .broken),
        .init("a connection that breaks before any text", [], .broken),
        .init("a connection that breaks in a call", [.calls([oslo])], .broken),
        .init("a connection that breaks behind the reason", [.text("2, ")], .brokenAfter(.stop)),
        .init(
            "a connection that breaks behind the reason for calls", [.calls([oslo, bergen])], .brokenAfter(.toolCalls)),
        .init("a connection that breaks behind the length", [.text("2, ")], .brokenAfter(.length)),
        .init("an error in the middle", [.text("la "), .text("la ")], .failed("Context size has been exceeded.")),
        .init("an error before any text", [], .failed("Model 'nope' not found")),
        .init("an error with calls on the way", [.text("a"), .calls([oslo])], .failed("unexpected EOF")),
        .init("an error in words beyond ASCII", [.text("a")], .failed("Fehler: \"größer\" \\ \u{1F600}\n")),
    ]

    /// These cases by all servers that write such outputs.
    static func written(_ cases: [ConformanceCase]) -> [WrittenCase] {
        allWriters.flatMap { writer in cases.compactMap { WrittenCase($0, by: writer) } }
    }
}
