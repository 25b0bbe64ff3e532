import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdChat

/// The steps of an answer, in the store and in the history of the next prompt.
@Suite struct AnswerStepTests {
    private func call(_ name: String, _ arguments: String = "{}", id: String? = nil) throws -> AnswerSteps.Call {
        let member = id.map { #""id":"\#($0)","# } ?? ""
        let json = #"{\#(member)"function":{"name":"\#(name)","arguments":\#(arguments)}}"#
        return try #require(AnswerSteps.Call(JSONSlice(Array(json.utf8))))
    }

    private func sample() throws -> AnswerSteps {
        var steps = AnswerSteps()
        var first = try call("f", #"{"x":1}"#, id: "c1")
        first.end(.done, Array("a\"\n\u{1F600}".utf8))
        var second = try call("g")
        second.end(.failed, Array("Error: no".utf8))
        var third = try call("f")
        third.begin()
        steps.rounds = [
            .init(text: Array("Look: ".utf8), thinking: Array("hm".utf8), calls: [first, second]),
            .init(text: [], thinking: [], calls: [third]),
        ]
        return steps
    }

    private func history(content: String, extras: String) -> String {
        var history = EncodedConversation()
        history.append(
            role: "assistant".utf8.span, content: content.utf8.span, extras: extras.utf8.span, seq: 7, turn: 7)
        #expect(history.count == 1 && history[0].seq == 7)
        return history.json.string
    }

    @Test func storedStepsAreReadAgain() throws {
        let steps = try sample()
        let found = AnswerSteps(in: steps.member.span)
        let read = try #require(found)
        #expect(read.member == steps.member)
        #expect(read.rounds.map { $0.calls.map(\.name) } == [["f", "g"], ["f"]])
        #expect(read.rounds.flatMap { $0.calls.map(\.state) } == [.done, .failed, .running])
        #expect(read.rounds[0].calls[0].id == "c1" && read.rounds[0].calls[0].arguments == Array(#"{"x":1}"#.utf8))
        #expect(read.rounds.map(\.text.count) == [6, 0] && read.rounds.map(\.thinking.count) == [2, 0])
    }

    @Test func onlyChangesAreNew() throws {
        var (steps, known) = (try sample(), KnownSteps())
        func changes() -> [String] {
            known.take(steps).map { "\($0.place.round).\($0.place.index) \($0.call.state)" }
        }
        #expect(changes() == ["0.0 done", "0.1 failed", "1.0 running"] && changes().isEmpty)
        steps.rounds[1].calls[0].end(.unknown, [])
        steps.rounds.append(.init(text: [], thinking: [], calls: [try call("h")]))
        #expect(changes() == ["1.0 unknown", "2.0 waiting"])
    }

    @Test func changeIsAJSONObject() throws {
        func json(_ call: AnswerSteps.Call) -> String {
            var buffer = ByteBuffer()
            buffer.append(StepChange(place: StepPlace(round: 1, index: 2), call: call))
            return buffer.string
        }
        var call = try call("f", #"{"x":1}"#, id: "c1")
        #expect(json(call) == #"{"round":1,"index":2,"id":"c1","name":"f","arguments":{"x":1},"state":"waiting"}"#)
        call.ask()
        #expect(json(call).hasSuffix(#""state":"asked"}"#))
        call.end(.done, Array("a\"".utf8))
        #expect(json(call).hasSuffix(#""state":"done","result":"a\""}"#))
        call.end(.done, Array(String(repeating: "é", count: StepChange.maximumResult).utf8))
        let long = try JSONSlice(Array(json(call).utf8))
        #expect(long.last("result", .string)?.string?.utf8.count == StepChange.maximumResult)
        #expect(json(call).hasSuffix(#"","is_cut":true}"#))
        let large = try self.call("f", "{\"x\":\"\(String(repeating: "x", count: StepChange.maximumArguments))\"}")
        #expect(json(large) == #"{"round":1,"index":2,"name":"f","state":"waiting"}"#)
    }

    @Test func answersOfPeopleAreReadFromTheirText() {
        let answers = CallApprovals(parsing: "0.0=yes,0.1=no,10.0=late,0.0=no,1.1=maybe,x,1=yes,,=,0.2")
        func answer(_ round: Int, _ index: Int) -> CallApprovals.Answer? {
            answers[StepPlace(round: round, index: index)]
        }
        #expect(answer(0, 0) == .approved && answer(0, 1) == .refused && answer(10, 0) == .missed)
        // Only the word for it is an approval.
        #expect(answer(1, 1) == .refused && answer(0, 2) == nil && answer(1, 0) == nil)
    }

    @Test func callThatHasNotEndedHasAnUnknownResult() throws {
        var call = try call("f")
        #expect(String(decoding: call.result, as: UTF8.self).hasPrefix("The call was not made"))
        call.begin()
        #expect(String(decoding: call.result, as: UTF8.self).hasPrefix("The outcome of this call is unknown"))
    }

    @Test func historyHasTheStepsBeforeTheRestOfTheAnswer() throws {
        let steps = String(decoding: try sample().member, as: UTF8.self)
        let json = history(content: "Look: done", extras: steps)
        let messages = try #require(JSONSlice(Array("[\(json)]".utf8)).elements(first: .max))
        #expect(
            messages.map { $0.last("role", .string)?.string } == [
                "assistant", "tool", "tool", "assistant", "tool", "assistant",
            ])
        #expect(
            messages.map { $0.last("content", .string)?.string } == [
                "Look: ", "a\"\n\u{1F600}", "Error: no", "", String(decoding: AnswerSteps.unknownResult, as: UTF8.self),
                "done",
            ])
        #expect(messages[0].last("thinking", .string)?.string == "hm")
        #expect(
            messages[1].last("tool_name", .string)?.string == "f"
                && messages[1].last("tool_call_id", .string)?.string == "c1")
        // What only the store needs is not in it.
        #expect(messages.allSatisfy { $0.last("state", .string) == nil && $0.last("steps", .array) == nil })
    }

    @Test func callsForTheClientFollowTheSteps() throws {
        let steps = String(decoding: try sample().member, as: UTF8.self)
        let extras = steps + #","tool_calls":[{"function":{"name":"d"}}],"thinking":"x""#
        let json = history(content: "Look: ", extras: extras)
        let last = try #require(JSONSlice(Array("[\(json)]".utf8)).elements(first: .max)?.last)
        #expect(last.json == Array(#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"d"}}]}"#.utf8))
        #expect(AnswerSteps.callsAfterSteps(in: extras.utf8.span) == Array(#"{"function":{"name":"d"}}"#.utf8))
        #expect(AnswerSteps.callsAfterSteps(in: steps.utf8.span).isEmpty)
    }

    /// A client may send any member with its messages.
    @Test(arguments: [
        #""steps":[]"#, #""steps":[{}]"#, #""steps":[{"tool_calls":[1]}]"#, #""steps":[{"tool_calls":[{}]}]"#,
        #""steps":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]"#, #""steps":1"#,
        #""steps":{"a":[]}"#,
        #""steps" :[]"#, #""tool_calls":[]"#,
    ])
    func otherMembersAreUnchangedOrHaveNoStep(extras: String) throws {
        let json = history(content: "text", extras: extras)
        let messages = try #require(JSONSlice(Array("[\(json)]".utf8)).elements(first: .max))
        #expect(messages.count == 1 && messages[0].last("content", .string)?.string == "text")
    }

    /// As an import may have it.
    @Test(arguments: ["no", "€uro and more", "Look, another text"])
    func textThatDoesNotBeginWithThatOfItsRoundsIsWhole(text: String) throws {
        let steps = String(decoding: try sample().member, as: UTF8.self)
        let json = history(content: text, extras: steps)
        #expect(json.hasSuffix(#"{"role":"assistant","content":"\#(text)"}"#))
    }

    /// No model server gets steps that cannot be read.
    @Test func unreadableStepsAreLeftOut() throws {
        let json = history(
            content: "text", extras: #""steps":[{"x":1}],"tool_calls":[{"function":{"name":"d"}}],"y":2"#)
        #expect(json == #"{"role":"assistant","content":"text","tool_calls":[{"function":{"name":"d"}}]}"#)
    }

    // MARK: - Offers

    private func offered(_ tools: String?, _ names: [String]) -> ChatRequest {
        var request = ChatRequest(appID: "a", model: "m", messages: [])
        if let tools { request.passThrough.append(RawMember(key: "tools", value: Array(tools.utf8))) }
        request.offer(names.map { ServerTool(name: $0, json: Array(#"{"function":{"name":"\#($0)"}}"#.utf8)) })
        return request
    }

    @Test(
        arguments: [
            (nil, ["f"], ["f"], ["f"]), ("[]", ["f"], ["f"], ["f"]), ("[ ]", ["f"], ["f"], ["f"]),
            (#"[{"function":{"name":"d"}}]"#, ["f", "g"], ["d", "f", "g"], ["f", "g"]),
            (#"[{"function":{"name":"f"}}]"#, ["f", "g"], ["f", "g"], ["g"]),
            (#"[{"function":{"name":"f"}}]"#, ["f"], ["f"], []), (#"[{"function":{"name":"f"}}]"#, [], ["f"], []),
            (nil, [], [], []),
        ] as [(String?, [String], [String], [String])])
    func toolsOfTheServerFollowThoseOfTheClient(
        tools: String?, offers: [String], names: [String], residents: [String]
    ) {
        let request = offered(tools, offers)
        #expect(request.passThrough.toolNames == names && request.passThrough.residentTools == residents)
        #expect(request.onInterrupt == (residents.isEmpty ? nil : .regenerate))
        #expect(request.passThrough.withoutKept.map(\.key) == (names.isEmpty ? [] : ["tools"]))
    }

    @Test func policyOfTheClientCounts() {
        var request = ChatRequest(appID: "a", model: "m", messages: [])
        request.onInterrupt = .close
        request.offer([ServerTool(name: "f", json: Array("{}".utf8))])
        #expect(request.onInterrupt == .close)
    }
}
