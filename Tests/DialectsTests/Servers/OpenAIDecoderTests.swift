import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// OpenAI streams as lines of Ollama's shape.
@Suite(.timeLimit(.minutes(30))) struct OpenAIDecoderTests {
    private typealias Stream = OpenAIStream

    static let plain =
        Stream.chunk(#""role":"assistant","content":"""#) + Stream.token("Hel") + Stream.token("lo \"you\"\n")
        + Stream.token("é😀") + Stream.finish + Stream.usage + Stream.done

    @Test func tokensBecomeLines() {
        let decoded = [UInt8].decode(Self.plain)
        #expect(decoded.lines == [textLine("Hel"), textLine("lo \"you\"\n"), textLine("é😀"), lastLine()])
        #expect(decoded.error == nil)
    }

    @Test func streamSplitAnywhereGivesTheSameAnswer() {
        let bytes = Array((": ping\n\n" + Self.plain).utf8)
        let whole = [UInt8].decode([bytes])
        for index in 0...bytes.count {
            #expect([UInt8].decode([Array(bytes[..<index]), Array(bytes[index...])]) == whole)
        }
        #expect([UInt8].decode(bytes.map { [$0] }) == whole)
    }

    @Test(arguments: ["\r\n", "\r"])
    func linesMayEndOtherwise(_ lineEnd: String) {
        let text = Self.plain.replacing("\n", with: lineEnd)
        #expect([UInt8].decode(text).lines == [UInt8].decode(Self.plain).lines)
        let bytes = Array(text.utf8)
        #expect([UInt8].decode(bytes.map { [$0] }).lines == [UInt8].decode(Self.plain).lines)
    }

    @Test(arguments: 0..<40)
    func textIsTheAnswerOfTheModel(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let tokens = (0..<20).map { _ in random.text(upTo: 30) }
        let stream = tokens.map { token in
            // Comments, and chunks of another shape, between chunks of tokens.
            let others = ["", "", "", ": ping\n\n", Stream.chunk(#""content":null,"role":null"#), "event: x\nid: 1\n"]
            return others[Int.random(in: 0..<others.count, using: &random)] + Stream.token(token)
        }
        let bytes = Array((stream.joined() + Stream.finish + Stream.done).utf8)
        let decoded = [UInt8].decode(random.pieces(of: bytes, upTo: 300))
        #expect(decoded.isComplete)
        #expect(decoded.text == tokens.joined())
    }

    @Test func dataMayHaveSeveralLinesAndNoSpace() {
        let stream =
            "\u{FEFF}data:{\"choices\":[{\"delta\":\ndata:{\"content\":\"a\"}}]}\n\n" + Stream.finish + Stream.done
        #expect([UInt8].decode(stream).lines == [textLine("a"), lastLine("")])
    }

    @Test func bytesThatCannotBeStoredAreReplaced() {
        let contents: [[UInt8]] = [
            [0x61, 0xFF, 0x62], [0xE2, 0x82], Array(#"a\u0000b"#.utf8), Array(#"\ud800x"#.utf8),
            Array(#"\ud83d\ude00"#.utf8), Array("\u{2028}".utf8),
        ]
        let stream = contents.flatMap { content in
            Array(#"data: {"choices":[{"delta":{"content":""#.utf8) + content + Array("\"}}]}\n\n".utf8)
        }
        let decoded = [UInt8].decode([stream + Array((Stream.finish + Stream.done).utf8)])
        #expect(decoded.isComplete)
        #expect(decoded.text == "a\u{FFFD}b\u{FFFD}a\u{FFFD}b\u{FFFD}x\u{1F600}\u{2028}")
        #expect(decoded.lines.allSatisfy { !$0.contains(#"\u0000"#) && !$0.utf8.contains(0) })
    }

    @Test func textThatLooksLikeTheStreamIsText() {
        let tokens = [
            "[DONE]", "data: x", "\n\n", "data: [DONE]\n\n", "</script>", "\u{2028}", #"","finish_reason":"stop"#,
        ]
        let decoded = [UInt8].decode(tokens.map(Stream.token).joined() + Stream.finish + Stream.done)
        #expect(decoded.text == tokens.joined())
        #expect(decoded.isComplete)
    }

    @Test(arguments: ["reasoning", "reasoning_content", "thinking"])
    func thinkingHasThreeNames(_ name: String) {
        let decoded = [UInt8].decode(
            Stream.chunk("\"\(name)\":\"hm\"") + Stream.chunk("\"content\":\"a\",\"\(name)\":\"b\"") + Stream.finish
                + Stream.done)
        let opening = #"{"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","#
        #expect(
            decoded.lines == [
                opening + #""content":"","thinking":"hm"},"done":false}"#,
                opening + #""content":"a","thinking":"b"},"done":false}"#, lastLine(""),
            ])
    }

    @Test func probabilitiesArePassedOn() {
        let list = #"[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":[]}]"#
        let chunk =
            #"{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":\#(list)},"finish_reason":null}]}"#
        let decoded = [UInt8].decode(Stream.event(chunk) + Stream.finish + Stream.done)
        #expect(decoded.lines.first == String(textLine("a").dropLast()) + ",\"logprobs\":\(list)}")
    }

    @Test func refusalIsTextAndIsMarked() {
        let decoded = [UInt8].decode(Stream.chunk("\"refusal\":\"I will not.\"") + Stream.finish + Stream.done)
        #expect(decoded.lines == [textLine("I will not."), lastLine(",\"refusal\":true")])
    }

    @Test(arguments: [
        ("stop", "stop", ""), ("length", "length", ""), ("tool_calls", "stop", ""), ("function_call", "stop", ""),
        ("content_filter", "stop", ",\"finish_reason\":\"content_filter\""),
        ("eos_token", "stop", ",\"finish_reason\":\"eos_token\""),
    ])
    func reasonIsTranslated(theirs: String, ours: String, more: String) {
        let decoded = [UInt8].decode(Stream.chunk("", finish: "\"\(theirs)\"") + Stream.done)
        #expect(decoded.lines == [lastLine(more, reason: ours)])
    }

    @Test(arguments: [
        (#""finish_reason":"stop","stop_reason":"END""#, "stop", #","stop_reason":"END""#),
        (#""stop_reason":"\"é\"","finish_reason":"stop""#, "stop", #","stop_reason":"\"é\"""#),
        (#""finish_reason":"stop","matched_stop":"END""#, "stop", #","stop_reason":"END""#),
        (#""finish_reason":"stop","stop_reason":"END","matched_stop":7"#, "stop", #","stop_reason":"END""#),
        (#""finish_reason":"stop","stop_reason":128009"#, "stop", ""),
        (#""finish_reason":"stop","stop_reason":null"#, "stop", ""),
        (#""finish_reason":"stop","stop_reason":"""#, "stop", ""),
        (#""finish_reason":"stop","stop_reason":["END"]"#, "stop", ""),
        (#""finish_reason":"length","stop_reason":"END""#, "length", ""),
    ])
    func sequenceAtWhichTheModelStoppedIsReported(members: String, reason: String, more: String) {
        let finish = #"{"choices":[{"index":0,"delta":{"content":"a "},\#(members)}]}"#
        let decoded = [UInt8].decode(Stream.event(finish) + Stream.done)
        #expect(decoded.lines == [textLine("a "), lastLine(more, reason: reason)])
        let whole = #"{"choices":[{"index":0,"message":{"role":"assistant","content":"a "},\#(members)}]}"#
        #expect([UInt8].decode(whole).lines == decoded.lines)
    }

    @Test func sequenceOfAnotherChoiceDoesNotCount() {
        let choices = #"{"index":1,"delta":{},"finish_reason":"stop","stop_reason":"END"}"#
        let decoded = [UInt8].decode(Stream.event(#"{"choices":[\#(choices)]}"#) + Stream.finish + Stream.done)
        #expect(decoded.lines == [lastLine("")])
    }

    @Test func timingsAreReported() {
        let timings =
            #""timings":{"cache_n":4,"prompt_n":14,"prompt_ms":12.5,"predicted_n":9,"predicted_ms":1.5e2}"#
        let finish = #"{"choices":[{"finish_reason":"stop","index":0,"delta":{}}],\#(timings)}"#
        #expect(
            [UInt8].decode(Stream.event(finish) + Stream.done).lines == [
                lastLine(
                    ",\"prompt_eval_count\":18,\"prompt_eval_duration\":12500000,\"eval_count\":9,\"eval_duration\":150000000"
                )
            ])
        let usage = #"{"choices":[],"usage":{"completion_tokens":13,"prompt_tokens":18},\#(timings)}"#
        #expect(
            [UInt8].decode(Stream.finish + Stream.event(usage)).lines == [
                lastLine(
                    ",\"prompt_eval_count\":18,\"prompt_eval_duration\":12500000,\"eval_count\":13,\"eval_duration\":150000000"
                )
            ])
    }

    @Test func linesOfOneReadHaveOneTime() {
        let decoded = [UInt8].decode(
            [Array(Self.plain.utf8)], at: 1_763_635_166_491_288_961)
        #expect(decoded.lines.allSatisfy { $0.contains("\"created_at\":\"2025-11-20T10:39:26.491288961Z\"") })
        #expect(decoded.last.contains("\"total_duration\":0,"))
    }

    @Test(arguments: 0..<(isLongRun ? 200 : 40))
    func invalidAnswerIsMalformedInAnyFraming(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let call = Stream.chunk(#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#)
        var bytes = Array((Stream.token("a") + call + Self.plain).utf8)
        for _ in 0...Int.random(in: 0..<3, using: &random) {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] = Array("\"\\{}[]:,\n\r 0n".utf8).randomElement(using: &random) ?? 0
            default: bytes.remove(at: index)
            }
        }
        let whole = [UInt8].decode([bytes])
        for size in [1, 50, 400] {
            let cut = [UInt8].decode(random.pieces(of: bytes, upTo: size))
            #expect(cut.lines == whole.lines)
            #expect(cut.error?.code == whole.error?.code)
        }
        #expect(whole.isComplete || whole.error != nil)
    }
}
