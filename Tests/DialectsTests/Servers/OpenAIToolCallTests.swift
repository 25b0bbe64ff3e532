import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects

/// Tool calls, in the pieces of real servers.
@Suite(.timeLimit(.minutes(30))) struct OpenAIToolCallTests {
    private typealias Stream = OpenAIStream

    /// The array of the calls in the deltas, or the error.
    private func calls(_ deltas: [String], finish: String = "\"tool_calls\"") -> String {
        let decoded = [UInt8].decode(
            deltas.map { Stream.chunk($0) }.joined() + Stream.chunk("", finish: finish) + Stream.done)
        if let error = decoded.error { return "\(error)" }
        guard decoded.isComplete, decoded.lines.count == 2 else { return "\(decoded.lines)" }
        let ending = "},\"done\":false}"
        let opening =
            #"{"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","content":"","tool_calls":"#
        let line = decoded.lines[0]
        guard line.hasPrefix(opening), line.hasSuffix(ending) else { return line }
        return String(line.dropFirst(opening.count).dropLast(ending.count))
    }

    @Test func llamaCppSendsTheNameAndPiecesOfTheArguments() {
        #expect(
            calls([
                #""tool_calls":[{"index":0,"id":"vdSF","type":"function","function":{"name":"get_weather","arguments":"{"}}]"#,
                #""tool_calls":[{"index":0,"function":{"arguments":"\"city\": \"Oslo\","}}]"#,
                #""tool_calls":[{"index":0,"function":{"arguments":"\"b\":1}"}}]"#,
                #""tool_calls":[{"index":1,"id":"x2","type":"function","function":{"name":"f","arguments":"{}"}}]"#,
            ])
                == #"[{"id":"vdSF","function":{"index":0,"name":"get_weather","arguments":{"city": "Oslo","b":1}}},{"id":"x2","function":{"index":1,"name":"f","arguments":{}}}]"#
        )
    }

    @Test func vLLMSendsANameWithoutArgumentsAndTwoEntriesInOne() {
        #expect(
            calls([
                #""content":null,"tool_calls":[{"id":"t1","type":"function","index":0,"function":{"name":"f"}}]"#,
                #""content":null,"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"b\"}"}}]"#,
                #""content":null,"tool_calls":[{"id":"t2","type":"function","index":1,"function":{"name":"g"}},{"index":1,"function":{"arguments":"{\"z\":"}}]"#,
                #""content":null,"tool_calls":[{"index":1,"function":{"arguments":"1}"}}]"#,
            ])
                == #"[{"id":"t1","function":{"index":0,"name":"f","arguments":{"a":"b"}}},{"id":"t2","function":{"index":1,"name":"g","arguments":{"z":1}}}]"#
        )
    }

    @Test func callsMayBeInterleaved() {
        #expect(
            calls([
                #""tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\""}},{"index":1,"function":{"name":"g","arguments":"{"}}]"#,
                #""tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":":1}"}}]"#,
            ])
                == #"[{"function":{"index":0,"name":"f","arguments":{"a":1}}},{"function":{"index":1,"name":"g","arguments":{}}}]"#
        )
    }

    @Test(arguments: [
        // Without arguments; without an index; arguments that are an object; null; white space, a NUL, not UTF-8 when decoded.
        (#"{"index":0,"function":{"name":"f"}}"#, "{}"), (#"{"id":"","function":{"name":"f","arguments":""}}"#, "{}"),
        (#"{"function":{"name":"f","arguments":{"a":[1]}}}"#, #"{"a":[1]}"#),
        (#"{"function":{"name":"f","arguments":null}}"#, "{}"),
        (#"{"function":{"name":"f","arguments":"null"}}"#, "{}"),
        (#"{"function":{"name":"f","arguments":" {\n \"a\": 1\n} "}}"#, #"{  "a": 1 }"#),
        (#"{"function":{"name":"f","arguments":"{\"a\":\"\\u0000\"}"}}"#, #"{"a":"\ufffd"}"#),
    ])
    func oneCallInOnePiece(piece: String, arguments: String) {
        #expect(
            calls(["\"tool_calls\":[\(piece)]"]) == #"[{"function":{"index":0,"name":"f","arguments":\#(arguments)}}]"#)
    }

    @Test func piecesWithoutAnIndexGoToTheLastCall() {
        #expect(
            calls([
                #""tool_calls":[{"id":"1","function":{"name":"f","arguments":"{"}}]"#,
                #""tool_calls":[{"function":{"arguments":"}"}}]"#,
                #""tool_calls":[{"id":"2","function":{"name":"g","arguments":"{}"}}]"#,
            ])
                == #"[{"id":"1","function":{"index":0,"name":"f","arguments":{}}},{"id":"2","function":{"index":1,"name":"g","arguments":{}}}]"#
        )
    }

    @Test func callsWithOneIndexAreDistinguishedByTheirIDs() {
        #expect(
            calls([
                #""tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]"#,
                #""tool_calls":[{"index":0,"id":"2","function":{"name":"f","arguments":"{}"}}]"#,
            ])
                == #"[{"id":"1","function":{"index":0,"name":"f","arguments":{"a":1}}},{"id":"2","function":{"index":1,"name":"f","arguments":{}}}]"#
        )
    }

    @Test func piecesOfOneCallMayHaveANewIDEach() {
        #expect(
            calls([
                #""tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":""}}]"#,
                #""tool_calls":[{"index":0,"id":"2","function":{"name":"f","arguments":"{\"a\":"}}]"#,
                #""tool_calls":[{"index":0,"id":"3","function":{"name":"f","arguments":"{}"}}]"#,
                #""tool_calls":[{"index":0,"id":"4","function":{"name":"f","arguments":"}"}}]"#,
            ]) == #"[{"id":"1","function":{"index":0,"name":"f","arguments":{"a":{}}}}]"#)
    }

    @Test func bracketsWithinTextsEndNoCall() {
        #expect(
            calls([
                #""tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":\"}"}}]"#,
                #""tool_calls":[{"index":0,"id":"2","function":{"name":"f","arguments":"\\"}}]"#,
                #""tool_calls":[{"index":0,"id":"3","function":{"name":"f","arguments":"\"]"}}]"#,
                #""tool_calls":[{"index":0,"id":"4","function":{"name":"f","arguments":"\"}"}}]"#,
            ]) == #"[{"id":"1","function":{"index":0,"name":"f","arguments":{"a":"}\"]"}}}]"#)
    }

    @Test func callsAfterTheReasonAreNotLost() {
        let call = Stream.chunk(#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]"#)
        let rest = Stream.chunk(#""tool_calls":[{"index":0,"function":{"arguments":"}"}}]"#)
        let reason = Stream.chunk("", finish: "\"tool_calls\"")
        for ending in [Stream.done, Stream.usage, ""] {
            let whole = [UInt8].decode(reason + call + rest + ending)
            #expect(whole.isComplete && whole.lines.count == 2 && whole.lines[0].contains(#""tool_calls":[{"id":"a""#))
            #expect([UInt8].decode(reason + call + ending).error?.code == .malformed)
        }
    }

    @Test func indexMayBeAnyNumber() {
        #expect(
            calls([
                #""tool_calls":[{"index":9223372036854775807,"id":"1","function":{"name":"f"}}]"#,
                #""tool_calls":[{"id":"2","function":{"name":"g"}}]"#,
            ])
                == #"[{"id":"1","function":{"index":0,"name":"f","arguments":{}}},{"id":"2","function":{"index":1,"name":"g","arguments":{}}}]"#
        )
    }

    @Test func endlessCallsAreRejected() {
        let piece = { (index: Int) in
            Stream.chunk(#""tool_calls":[{"index":\#(index),"function":{"name":"f"}}]"#)
        }
        let finish = Stream.chunk("", finish: "\"tool_calls\"")
        #expect([UInt8].decode((0..<1_000).map(piece).joined() + finish).isComplete)
        #expect([UInt8].decode((0...1_000).map(piece).joined() + finish).error?.code == .malformed)
    }

    @Test(arguments: ["\"id\":\"", "\"function\":{\"name\":\""])
    func namesAreMeasuredToo(opening: String) {
        var limits = GenerationLimits()
        limits.answer = 1_000
        let closing = opening.hasPrefix("\"f") ? "\"}" : "\""
        let stream = (0..<20).map { index in
            let name = String(repeating: "x", count: 100)
            return Stream.chunk("\"tool_calls\":[{\"index\":\(index),\(opening)\(name)\(closing)}]")
        }
        let decoded = [UInt8].decode([Array(stream.joined().utf8)], limits: limits)
        #expect(decoded.error?.code == .answerTooLarge)
    }

    @Test func functionCallBecomesAToolCall() {
        #expect(
            calls(
                [#""function_call":{"name":"f","arguments":"{"}"#, #""function_call":{"arguments":"}"}"#],
                finish: "\"function_call\"") == #"[{"function":{"index":0,"name":"f","arguments":{}}}]"#)
    }

    @Test(arguments: [
        #"{"index":0,"function":{"name":"f","arguments":"{\"a\":"}}"#,
        #"{"index":0,"function":{"name":"f","arguments":"[1,"}}"#, #"{"index":0,"function":{"arguments":"{}"}}"#,
    ])
    func unfinishedCallIsMalformed(piece: String) {
        let stream = Stream.chunk("\"tool_calls\":[\(piece)]") + Stream.chunk("", finish: "\"stop\"") + Stream.done
        let decoded = [UInt8].decode(stream)
        #expect(decoded.error?.code == .malformed)
        #expect(decoded.lines.isEmpty)
    }

    /// A tool, or the device, reads what the model has written.
    @Test(arguments: ["{}{}", "[1]", #"\"{}\""#, "{x: 1}", "Paris"])
    func argumentsThatAreNoObjectAreAText(text: String) {
        #expect(
            calls([#""tool_calls":[{"index":0,"function":{"name":"f","arguments":"\#(text)"}}]"#])
                == #"[{"function":{"index":0,"name":"f","arguments":{"arguments":"\#(text)"}}}]"#)
    }

    /// The pieces of a call that the token limit cut: llama.cpp breaks the arguments off, vLLM closes them or gives `{}`.
    @Test(arguments: [
        [#"{"index":1,"id":"b","function":{"name":"f"}}"#],
        [#"{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}"#],
        [#"{"index":1,"id":"b","function":{"name":"f","arguments":"{"}}"#],
        [
            #"{"index":1,"id":"b","function":{"name":"f","arguments":"{\"a\": \"Os"}}"#,
            #"{"index":1,"function":{"arguments":"\"}"}}"#,
        ],
        [#"{"index":1,"id":"b","function":{"arguments":"[1]"}}"#],
    ])
    func callCutByTheTokenLimitIsRemoved(pieces: [String]) {
        let whole = #"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#
        let length = Stream.chunk("", finish: "\"length\"")
        let cut = pieces.map { Stream.chunk("\"tool_calls\":[\($0)]") }.joined()
        for ending in [length + Stream.usage + Stream.done, length + Stream.done, length] {
            let alone = [UInt8].decode(cut + ending)
            #expect(alone.isComplete && alone.lines.count == 1 && alone.last.contains(#""done_reason":"length""#))
            let second = [UInt8].decode(Stream.chunk("\"tool_calls\":[\(whole)]") + cut + ending)
            #expect(second.isComplete && second.lines.count == 2)
            #expect(
                second.lines[0].contains(#""tool_calls":[{"id":"a","function":{"index":0,"name":"f","arguments":{}}}]"#)
            )
        }
    }

    @Test func cutCallIsRemovedIfItsLastPieceComesWithTheReason() {
        let call = #""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#
        for stream in [
            Stream.chunk(call, finish: "\"length\""), Stream.chunk("", finish: "\"length\"") + Stream.chunk(call),
        ] {
            let decoded = [UInt8].decode(stream + Stream.done)
            #expect(decoded.isComplete && decoded.lines.count == 1)
        }
    }

    @Test func callBeforeTextThatTheTokenLimitCutsIsWhole() {
        let decoded = [UInt8].decode(
            Stream.token("Let ") + Stream.token("me ")
                + Stream.chunk(#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#)
                + Stream.token("see") + Stream.chunk("", finish: "\"length\"") + Stream.done)
        #expect(decoded.isComplete && decoded.text == "Let me see")
        #expect(decoded.lines.contains { $0.contains(#""tool_calls":[{"id":"a""#) })
    }

    @Test func interleavedCutCallsAreRemoved() {
        let decoded = [UInt8].decode(
            Stream.chunk(
                #""tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}},{"index":1,"function":{"name":"g","arguments":"{"}}]"#
            ) + Stream.chunk("", finish: "\"length\"") + Stream.done)
        #expect(decoded.isComplete && decoded.lines.count == 1)
    }

    @Test func textAndCallsCanCome() {
        let decoded = [UInt8].decode(
            Stream.token("Let me see.")
                + Stream.chunk(#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#)
                + Stream.chunk("", finish: "\"tool_calls\"") + Stream.usage)
        #expect(decoded.lines.count == 3)
        #expect(decoded.lines.first == textLine("Let me see."))
        #expect(decoded.last == lastLine())
    }
}
