import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdDialects
@testable import ChatterdRelay

/// The events of responses.
struct ResponseEventTests {
    private static let call = #""tool_calls":[{"id":"call_1","function":{"name":"weather","arguments":{"city":"Å"}}}]"#
    /// An answer with reasoning, text and calls, in small pieces.
    private static let lines = [
        token(#""content":"","thinking":"I thi""#), token(#""content":"","thinking":"nk \"é\".""#),
        token(#""content":"Grü""#), token(#""content":"ße\n🐣 ""#), token(#""content":"\u00e9 end""#),
        token(#""content":"",\#(call)"#),
        token(#""content":"","tool_calls":[{"function":{"name":"time","arguments":{}}}]"#),
        last(#""content":".""#),
    ]
    /// The same answer as a store reads it: each part in one line, and an end without text.
    private static let page = [
        token(#""content":"","thinking":"I think \"é\".""#), token(#""content":"Grüße\n🐣 é end.""#),
        token(
            #""content":"","tool_calls":[{"id":"call_1","function":{"name":"weather","arguments":{"city":"Å"}}},{"function":{"name":"time","arguments":{}}}]"#
        ), last(),
    ]

    /// The names of the events, without repetitions.
    private func names(_ events: [String]) throws -> [String] {
        var names: [String] = []
        for event in events {
            let name = try #require(try member("type", of: event) as? String)
            if names.last != name { names.append(name) }
        }
        return names
    }

    private func member(_ name: String, of event: String) throws -> Any? {
        try (JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])?[name]
    }

    /// The events with adjacent deltas joined, in a form that can be compared.
    private func joined(_ events: [String]) throws -> [String] {
        var result: [(head: String, delta: String, number: Int)] = []
        for event in events {
            var object = try #require(try JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])
            let number = ResponseTranscript.number(of: event)
            let delta = object["delta"] as? String
            object["delta"] = nil
            object["sequence_number"] = nil
            let head = String(
                decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]), as: UTF8.self)
            if let delta, let before = result.last, before.head == head {
                result[result.count - 1] = (head, before.delta + delta, number)
            } else {
                result.append((head, delta ?? "", number))
            }
        }
        return result.map { "\($0.number) \($0.head) \($0.delta)" }
    }

    @Test func callOfACustomToolHasItsText() throws {
        func call(_ name: String, _ arguments: String) -> String {
            token(#""content":"","tool_calls":[{"id":"c","function":{"name":"\#(name)","arguments":\#(arguments)}}]"#)
        }
        let request =
            #"{"model":"m","input":"Hi","tools":[{"type":"custom","name":"apply_patch"},{"type":"function","name":"f"}]}"#
        let patch = #"{"input":"*** \"Begin\"\n"}"#
        let events = try ResponseTranscript(
            [call("apply_patch", patch), call("f", patch), call("apply_patch", #"{"input":"a","b":1}"#), last()],
            request: request
        ).events
        #expect(
            try names(events) == [
                "response.created", "response.in_progress", "response.output_item.added",
                "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done",
                "response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
                "response.function_call_arguments.done", "response.output_item.done", "response.output_item.added",
                "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done",
                "response.output_item.done", "response.completed",
            ])
        let response = try #require(try member("response", of: events[events.count - 1]) as? [String: Any])
        let items = try #require(response["output"] as? [[String: Any]])
        #expect(items.map { $0["type"] as? String } == ["custom_tool_call", "function_call", "custom_tool_call"])
        #expect(items[0]["input"] as? String == "*** \"Begin\"\n" && items[1]["arguments"] as? String == patch)
        // What the model wrote in another form is the text.
        #expect(items[2]["input"] as? String == #"{"input":"a","b":1}"#)
        let ids = items.compactMap { $0["id"] as? String }
        #expect(ids.map { $0.prefix { $0 != "_" } } == ["ctc", "fc", "ctc"])
        let deltas = try events.filter { try member("delta", of: $0) != nil }
        #expect(try deltas.map { try member("item_id", of: $0) as? String } == ids)
    }

    @Test func reasoningTextAndCallsAreItemsInThisOrder() throws {
        let events = try ResponseTranscript(Self.lines).events
        #expect(
            try names(events) == [
                "response.created", "response.in_progress",
                "response.output_item.added", "response.content_part.added", "response.reasoning.delta",
                "response.reasoning.done", "response.content_part.done", "response.output_item.done",
                "response.output_item.added", "response.content_part.added", "response.output_text.delta",
                "response.output_text.done", "response.content_part.done", "response.output_item.done",
                "response.output_item.added", "response.function_call_arguments.delta",
                "response.function_call_arguments.done", "response.output_item.done",
                "response.output_item.added", "response.function_call_arguments.delta",
                "response.function_call_arguments.done", "response.output_item.done", "response.completed",
            ])
        let numbers = events.map(ResponseTranscript.number)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        let indices = try events.compactMap { try member("output_index", of: $0) as? Int }
        #expect(indices == indices.sorted() && indices.last == 3)
        // All clients can hold the numbers.
        #expect(try #require(numbers.last) < Int(Int32.max))
    }

    @Test func finalEventHasTheWholeResponse() throws {
        let final = try #require(try ResponseTranscript(Self.lines).events.last)
        let response = try #require(try member("response", of: final) as? [String: Any])
        let output = try #require(response["output"] as? [[String: Any]])
        #expect(output.map { $0["type"] as? String } == ["reasoning", "message", "function_call", "function_call"])
        #expect(
            output.map { $0["id"] as? String } == [
                "rs_\(replyID)", "msg_\(replyID)", "fc_\(replyID)_0", "fc_\(replyID)_1",
            ])
        let part = try #require((output[1]["content"] as? [[String: Any]])?.first)
        #expect(part["text"] as? String == "Grüße\n🐣 é end.")
        #expect(output[2]["call_id"] as? String == "call_1" && output[2]["arguments"] as? String == #"{"city":"Å"}"#)
        #expect(output[3]["call_id"] as? String == "call_\(replyID)_1")
        #expect(response["id"] as? String == "resp_\(replyID)" && response["status"] as? String == "completed")
        #expect((response["usage"] as? [String: Any])?["total_tokens"] as? Int == 12)
        #expect(response["created_at"] as? Int == 1_700_000_000 && response["completed_at"] as? Int == 1_767_225_601)
    }

    @Test func streamEndsWithTheMarkOfTheSpecification() throws {
        #expect(try ResponseTranscript(Self.lines).text.hasSuffix("}\n\ndata: [DONE]\n\n"))
    }

    @Test func eventFieldRepeatsTheType() throws {
        for event in try ResponseTranscript(Self.lines).text.components(separatedBy: "\n\n")
        where event.hasPrefix("event") {
            let name = event.dropFirst("event: ".count).prefix { $0 != "\n" }
            #expect(event.contains("data: {\"type\":\"\(name)\","), "\(event)")
        }
    }

    @Test func everyEventIsThatOfTheSpecification() throws {
        let schemas = try SpecificationSchemas.openResponses()
        let failure =
            #"{"error":"out of memory","code":"upstream_failed","message":{"role":"assistant","content":"out of memory"},"done":true}"#
        let stop =
            #"{"model":"m","created_at":"2026-01-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","state":"cancelled"}"#
        let full = #"""
            {"model":"m","input":"Hi","instructions":"Be brief.","background":true,"temperature":0.5,"metadata":{"a":"b"},
            "tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true},{"type":"function","name":"g"}],
            "tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]},
            "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}},"verbosity":"low"},
            "reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":20,"service_tier":"auto","user":"u",
            "previous_response_id":"resp_\#(replyID)","safety_identifier":"s","prompt_cache_key":"k"}
            """#
        var seen: Set<String> = []
        for (number, lines) in [
            Self.lines, Self.page, [last(reason: "length")], [Self.lines[0], Self.lines[2], failure],
            [Self.lines[0], stop],
            [token(#""content":"a""#), last(reason: "length")],
        ].enumerated() {
            for request in [#"{"model":"m","input":"Hi"}"#, full] {
                for event in try ResponseTranscript(lines, request: request).events {
                    #expect(
                        schemas.problems(ofEvent: event).isEmpty,
                        "\(number): \(schemas.problems(ofEvent: event)) \(event)")
                    seen.insert(try #require(try member("type", of: event) as? String))
                }
            }
        }
        let fault = text { buffer in
            var encoder = OpenResponses().makeEncoder(context())
            encoder.fail(.invalid("No."), at: 0, to: &buffer)
        }
        for event in ResponseTranscript.events(in: fault) {
            #expect(schemas.problems(ofEvent: event).isEmpty)
            seen.insert("error")
        }
        // No model server has these.
        let others = schemas.eventTypes.filter { type in
            ["refusal", "summary", "annotation"].contains { type.contains($0) }
        }
        #expect(seen == Set(schemas.eventTypes).subtracting(others))
    }

    @Test func failureIsAResponseWithTheTextSoFar() throws {
        let failure =
            #"{"error":"out of memory","code":"upstream_failed","message":{"role":"assistant","content":"out of memory"},"done":true}"#
        let final = try #require(try ResponseTranscript([token(#""content":"Half""#), failure]).events.last)
        let response = try #require(try member("response", of: final) as? [String: Any])
        #expect(
            try member("type", of: final) as? String == "response.failed" && response["status"] as? String == "failed")
        #expect(response["error"] as? [String: String] == ["code": "upstream_failed", "message": "out of memory"])
        let message = try #require((response["output"] as? [[String: Any]])?.first)
        #expect(message["status"] as? String == "incomplete")
        #expect((message["content"] as? [[String: Any]])?.first?["text"] as? String == "Half")
    }

    /// A client has received the bytes up to any place, and continues after its last whole event, because it ignores an event without its
    /// blank line; on a process that reads the answer in other pieces.
    @Test(arguments: [Self.lines, Self.page])
    func streamThatIsCutAnywhereContinuesWithTheRest(_ rest: [String]) throws {
        let all = try ResponseTranscript(Self.lines)
        let expected = try joined(all.events)
        let bytes = Array(all.text.utf8)
        let ends = [0] + (2...bytes.count).filter { bytes[$0 - 2] == 10 && bytes[$0 - 1] == 10 }
        #expect(ends.count > 20)
        for end in ends {
            let received = ResponseTranscript.events(in: String(decoding: bytes[..<end], as: UTF8.self))
            let number = received.last.map(ResponseTranscript.number)
            let continued = try ResponseTranscript(rest, after: number).events
            #expect(try joined(received + continued) == expected, "after \(number ?? -1)")
        }
    }

    @Test func deltaContinuesInsideACharacterWithTheNextOne() throws {
        // Two of the four bytes of the bird: an invented number.
        let number = ResponseEventNumber(servers: 0).text(to: "Grüße\n".utf8.count + 2)
        let event = try #require(try ResponseTranscript(Self.page, after: number).events.first)
        #expect(try member("delta", of: event) as? String == " é end.")
    }

    @Test func numbersTellAttemptsApart() throws {
        let first = try ResponseTranscript(Self.lines).events.map(ResponseTranscript.number)
        let second = try ResponseTranscript(Self.lines, attempt: 2).events.map(ResponseTranscript.number)
        #expect(first.prefix(2) == second.prefix(2) && Set(first.dropFirst(2)).isDisjoint(with: second))
        var context = context()
        context.attempt = 2
        // A client with events before all content has nothing that a restart would take back.
        #expect(throws: Never.self) { try context.resume(after: "\(first[1])") }
        #expect(!context.hasContent)
        #expect(throws: Never.self) { try context.resume(after: "\(second[4])") }
        #expect(context.hasContent)
        let fault = #expect(throws: RelayError.self) { try context.resume(after: "\(first[4])") }
        #expect(fault?.code == .responseRestarted && fault?.parameter == "starting_after")
        #expect(throws: RelayError.self) { try context.resume(after: "x") }
    }

    @Test func runOfTokensIsWrittenLikeItsLines() throws {
        let lines = ["a", "\\n", "\\\"b\\\"", "é"].map { token("\"content\":\"\($0)\"") }
        let sizes = [1, 2, 5, 7]
        let all = Array((lines.joined(separator: "\n") + "\n").utf8)
        var table: [TokenLine] = []
        var start = 0
        for line in lines {
            let fields = try AnswerLine(Array(line.utf8).span)
            func moved(_ string: JSONString) -> JSONString {
                JSONString(
                    range: string.range.lowerBound + start..<string.range.upperBound + start,
                    hasEscapes: string.hasEscapes)
            }
            table.append(
                TokenLine(
                    start..<start + line.utf8.count, createdAt: moved(try #require(fields.createdAt)),
                    content: moved(try #require(fields.content))))
            start += line.utf8.count + 1
        }
        let run = LineRun(all.span, tokens: table.span, like: try AnswerLine(Array(lines[0].utf8).span))
        var encoder = OpenResponses().makeEncoder(context())
        let written = text {
            encoder.append(PositionedLines(run, textEnds: sizes.span, to: ReplyPosition(text: 7)), to: &$0)
        }
        var single = OpenResponses().makeEncoder(context())
        let expected = text { buffer in
            for (line, size) in zip(lines, sizes) {
                single.append(PositionedLines(Array(line.utf8).span, to: ReplyPosition(text: size)), to: &buffer)
            }
        }
        #expect(written == expected && written.contains(#""delta":"\"b\"""#))
    }

    /// A store notes its own time, which is later than that of the request.
    @Test func timeOfStorageChangesNoEvent() throws {
        let lines = Self.lines.dropLast() + [last().replacing("2026", with: "2000")]
        let live = try ResponseTranscript(Array(lines)).text
        #expect(try ResponseTranscript(Array(lines), storedAfter: 2_000_000_000).text == live)
        #expect(live.contains(#""completed_at":1700000000,"#))
    }
}
