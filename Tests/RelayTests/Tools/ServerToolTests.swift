import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

/// Replies whose model calls tools of the server.
@Suite(.timeLimit(.minutes(30))) struct ServerToolTests {
    // MARK: - Rounds

    @Test func modelGetsTheResultAndTheClientTheAnswer() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f", saying: "Let me look. ")
        #expect(relay.tools.runs.map(\.name) == ["f"] && relay.tools.runs[0].arguments == #"{"n":1}"#)
        #expect(relay.steps(post).count == 1 && relay.model.generations.count == 1)
        try relay.end(0, "42")
        #expect(relay.steps(post) == ["f done 42"])
        #expect(try relay.answer().prompts == ["user: Hi", "assistant: Let me look. ", "tool: 42"])
        #expect(try relay.answer().request.messages.json.string.contains(#""tool_calls":[{"function":{"name":"f""#))
        try relay.complete("It is 42.")
        #expect(post.isComplete && post.reader.resets == 0)
        #expect(post.reader.text == "Let me look. It is 42.")
        #expect(!post.reader.lines.contains { $0.contains("tool_calls") })
        let text = try relay.readWhole(post).text
        #expect(String(decoding: text, as: UTF8.self) == "Let me look. It is 42.")
    }

    @Test func roundsFollowEachOther() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f", "g"])
        try relay.call("f", saying: "One ")
        try relay.end(0, "1")
        try relay.call("g", saying: "two ")
        try relay.end(1, "2")
        #expect(
            try relay.answer().prompts == ["user: Hi", "assistant: One ", "tool: 1", "assistant: two ", "tool: 2"])
        try relay.complete("three")
        #expect(post.isComplete && post.reader.text == "One two three")
        #expect(relay.steps(post) == ["f done 1", "g done 2"])
        #expect(relay.tools.runs.map(\.key) == ["\(post.id!)-0-0", "\(post.id!)-1-0"])
    }

    /// A last line may have text and calls.
    @Test func callsInTheLastLineRun() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        let answer = try relay.answer()
        answer.sendLine(TestRelay.line(["f"], content: "Look: ", done: #""done":true,"done_reason":"stop""#))
        answer.end(nil)
        relay.clock.settle()
        try relay.end(0, "1")
        try relay.complete("done")
        #expect(post.isComplete && post.reader.text == "Look: done")
    }

    @Test func callOfTheDeviceEndsTheAnswerAfterTheToolsOfTheServer() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", tools: #"[{"function":{"name":"d"}}]"#, offering: ["f"])
        try relay.call("d", "f")
        #expect(relay.tools.runs.map(\.name) == ["f"] && post.reader.lines.isEmpty)
        try relay.end(0, "1")
        #expect(post.isComplete && relay.model.generations.count == 1)
        #expect(post.reader.lines.filter { $0.contains(#""name":"d""#) }.count == 1)
        #expect(!post.reader.lines.contains { $0.contains(#""name":"f""#) })
        #expect(relay.steps(post) == ["f done 1"])
    }

    @Test func toolOfTheClientCountsInPlaceOfOneOfTheServer() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", tools: #"[{"function":{"name":"f"}}]"#, offering: ["f"])
        try relay.call("f")
        #expect(relay.tools.runs.isEmpty && post.isComplete)
    }

    @Test func nameThatTheModelGotFromNowhereHasAResult() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", tools: #"[{"function":{"name":"d"}}]"#, offering: ["f"])
        try relay.call("x")
        #expect(relay.tools.runs.isEmpty)
        #expect(try relay.answer().prompts.last == "tool: Error: there is no tool of this name. The tools are f, d.")
        try relay.complete("ok")
        #expect(post.isComplete)
        #expect(relay.steps(post) == ["x failed Error: there is no tool of this name. The tools are f, d."])
    }

    @Test func resultOfACallThatMayNotRunIsStoredBeforeTheModelReadsIt() throws {
        let relay = TestRelay()
        relay.store.faults[.storeSteps] = [.unavailable]
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("x", saying: "Wait. ")
        #expect(relay.model.generations.count == 1)
        relay.clock.advance(by: .seconds(5))
        #expect(relay.model.generations.count == 2 && relay.steps(post).count == 1)
        let other = relay.takeOver()
        #expect(try other.answer().prompts.prefix(2) == ["user: Hi", "assistant: Wait. "])
    }

    @Test func manyCallsHaveALimit() throws {
        let relay = TestRelay()
        relay.tools.parallel = ["f"]
        let post = relay.post("Hi", offering: ["f"])
        let answer = try relay.answer()
        for _ in 0..<(ReplyTools.maximumCalls + 3) { answer.sendLine(TestRelay.line(["f"])) }
        answer.finish()
        relay.clock.settle()
        var ended = 0
        while ended < relay.tools.runs.count {
            #expect(relay.tools.runs.count - ended <= ReplyTools.maximumTogether)
            try relay.end(ended, "1")
            ended += 1
        }
        #expect(ended == ReplyTools.maximumCalls)
        #expect(try relay.answer().prompts.filter { $0.contains("not run") }.count == 3)
        try relay.complete("ok")
        #expect(post.isComplete)
    }

    @Test func requestAfterTheLastRoundHasNoTools() throws {
        var limits = RelayLimits()
        limits.toolRounds = 2
        let relay = TestRelay(limits)
        let post = relay.post("Hi", offering: ["f"])
        for index in 0..<2 {
            #expect(try relay.answer().request.passThrough.contains { $0.key == "tools" })
            try relay.call("f")
            try relay.end(index, "1")
        }
        #expect(try !relay.answer().request.passThrough.contains { $0.key == "tools" })
        try relay.complete("ok")
        #expect(post.isComplete && post.reader.text == "ok")
    }

    @Test func lastLineHasTheTokensOfAllRounds() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        for index in 0..<2 {
            try relay.call("f")
            try relay.end(index, "1")
        }
        try relay.complete("ok")
        // Each answer of the test's model has one token of each kind.
        let last = try #require(post.reader.lines.last)
        #expect(last.contains(#""prompt_eval_count":3"#) && last.contains(#""eval_count":3"#), "\(last)")
    }

    @Test func callsAfterTheLastRoundAreDropped() throws {
        var limits = RelayLimits()
        limits.toolRounds = 1
        let relay = TestRelay(limits)
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        try relay.end(0, "1")
        try relay.call("f", saying: "So.")
        #expect(relay.tools.runs.count == 1 && post.isComplete && post.reader.text == "So.")
        #expect(!post.reader.lines.contains { $0.contains(#""name":"f""#) })
    }

    @Test func failingStoreEndsTheCallsThatRun() throws {
        let relay = TestRelay()
        relay.tools.parallel = ["f"]
        relay.post("Hi", offering: ["f"])
        try relay.call("f", "f")
        relay.delete()
        try relay.end(0, "1")
        #expect(relay.tools.runs[1].isCancelled)
    }

    @Test func noModelServerGetsTheNamesThatTheReplyKeeps() throws {
        let relay = TestRelay()
        relay.post("Hi", offering: ["f"])
        #expect(try relay.answer().request.passThrough.map(\.key) == ["tools"])
    }

    // MARK: - Order

    @Test func callsRunOneAfterTheOtherUnlessTheirToolsPermitMore() throws {
        let relay = TestRelay()
        relay.tools.parallel = ["p", "q"]
        relay.post("Hi", offering: ["a", "p", "q"])
        try relay.call("a", "p", "q", "p", "a")
        #expect(relay.tools.runs.map(\.name) == ["a"])
        try relay.end(0, "1")
        #expect(relay.tools.runs.map(\.name) == ["a", "p", "q", "p"])
        try relay.end(3, "4")
        try relay.end(1, "2")
        try relay.end(2, "3")
        #expect(relay.tools.runs.map(\.name) == ["a", "p", "q", "p", "a"])
        try relay.end(4, "5")
        // The results are in the order of the calls.
        #expect(try relay.answer().prompts.suffix(5) == ["tool: 1", "tool: 2", "tool: 3", "tool: 4", "tool: 5"])
    }

    @Test func failedToolIsAResult() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        try relay.end(0, "Error: no", isError: true)
        #expect(relay.steps(post) == ["f failed Error: no"])
        #expect(try relay.answer().prompts.last == "tool: Error: no")
    }

    // MARK: - The store

    @Test func callRunsOnlyAfterItIsStored() throws {
        let relay = TestRelay()
        relay.store.faults[.storeSteps] = [.unavailable, .lost]
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        #expect(relay.tools.runs.isEmpty)
        relay.clock.advance(by: .seconds(5))
        #expect(relay.tools.runs.count == 1 && relay.steps(post).count == 1)
    }

    @Test func modelGetsAResultOnlyAfterItIsStored() throws {
        let relay = TestRelay()
        relay.post("Hi", offering: ["f"])
        try relay.call("f")
        relay.store.faults[.storeSteps] = [.unavailable]
        try relay.end(0, "1")
        #expect(relay.model.generations.count == 1)
        relay.clock.advance(by: .seconds(5))
        #expect(relay.model.generations.count == 2 && relay.tools.runs.count == 1)
    }

    @Test func callOfAReplyThatAnotherProcessOwnsDoesNotRun() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        let other = relay.takeOver()
        try relay.call("f")
        #expect(relay.tools.runs.isEmpty && !post.isComplete)
        try other.call("f")
        #expect(other.tools.runs.count == 1)
    }

    // MARK: - Takeover

    @Test(arguments: [true, false]) func callOfADeadProcessRunsAgainOnlyIfItsToolIsIdempotent(isIdempotent: Bool) throws
    {
        let relay = TestRelay()
        if isIdempotent { relay.tools.idempotent = ["f"] }
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f", saying: "Wait. ")
        let other = relay.takeOver()
        if isIdempotent {
            #expect(other.tools.runs.map(\.key) == [relay.tools.runs[0].key])
            try other.end(0, "1")
            #expect(other.steps(post) == ["f done 1"])
        } else {
            #expect(other.tools.runs.isEmpty)
            #expect(other.steps(post)[0].hasPrefix("f unknown The outcome of this call is unknown"))
        }
        // The late result of the former owner changes nothing.
        let before = other.steps(post)
        try relay.end(0, "late")
        #expect(other.steps(post) == before)
        let prompts = try other.answer().prompts
        #expect(prompts.prefix(2) == ["user: Hi", "assistant: Wait. "] && prompts.count == 3)
        let reader = try other.read(post)
        try other.complete("Done.")
        #expect(reader.text == "Wait. Done.")
    }

    /// It surely had no effect.
    @Test func callThatHadNotBegunRunsAfterTheTakeover() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f", "g"])
        try relay.call("f", "g")
        #expect(relay.steps(post)[1].hasPrefix("g waiting"))
        let other = relay.takeOver()
        #expect(other.tools.runs.map(\.name) == ["g"])
        try other.end(0, "2")
        #expect(other.steps(post)[0].hasPrefix("f unknown") && other.steps(post)[1] == "g done 2")
        #expect(try other.answer().prompts.last == "tool: 2")
    }

    @Test func storedResultIsNotComputedAgain() throws {
        let relay = TestRelay()
        relay.tools.idempotent = ["f"]
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f")
        try relay.end(0, "1")
        try relay.answer().send("It ")
        relay.clock.settle()
        let other = relay.takeOver()
        #expect(other.tools.runs.isEmpty)
        #expect(try other.answer().prompts == ["user: Hi", "assistant: ", "tool: 1"])
        let reader = try other.read(post)
        try other.complete("is 1.")
        #expect(reader.text == "is 1." && other.steps(post) == ["f done 1"])
    }

    // MARK: - Failing model servers

    /// A server that fails in a later round begins that round again, not the whole answer.
    @Test func failureInALaterRoundKeepsTheSteps() throws {
        let relay = TestRelay(rescues: 2)
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f", saying: "First. ")
        try relay.end(0, "1")
        try relay.answer().send("Sec")
        try relay.answer().fail(.incomplete)
        relay.clock.advance(by: .seconds(5))
        #expect(try relay.answer().prompts.suffix(2) == ["assistant: First. ", "tool: 1"])
        try relay.complete("Second.")
        #expect(post.isComplete && post.reader.text == "First. Second." && relay.tools.runs.count == 1)
        let text = try relay.readWhole(post).text
        #expect(String(decoding: text, as: UTF8.self) == "First. Second.")
    }

    @Test func callsOfAnAnswerThatBrokeOffDoNotRun() throws {
        let relay = TestRelay(failovers: 2, rescues: 2)
        let post = relay.post("Hi", offering: ["f"])
        try relay.answer().sendLine(TestRelay.line(["f"]))
        try relay.answer().fail(.incomplete)
        relay.clock.advance(by: .seconds(5))
        #expect(relay.tools.runs.isEmpty && relay.model.generations.count == 2)
        try relay.complete("ok")
        #expect(post.isComplete && post.reader.text == "ok" && relay.tools.runs.isEmpty)
    }

    // MARK: - Ends

    @Test func toolThatTheAppMayNotUseDoesNotRun() throws {
        let relay = TestRelay()
        relay.tools.refused = ["f"]
        // As a conversation that was imported names it.
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        #expect(relay.tools.runs.isEmpty)
        #expect(try relay.answer().prompts.last?.hasPrefix("tool: Error: there is no tool of this name") == true)
        try relay.complete("ok")
        #expect(post.isComplete)
    }

    @Test func resultsOfAReplyHaveALimit() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f", "f")
        try relay.end(0, String(repeating: "x", count: ReplyTools.maximumResults))
        #expect(relay.tools.runs.count == 1)
        #expect(relay.steps(post)[1].hasPrefix("f failed Error: not run, because the results of this answer"))
        try relay.complete("ok")
        #expect(post.isComplete)
    }

    // MARK: - Approvals of the client

    @Test func callThatTheClientApprovesFirstEndsTheAnswer() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f", "g"], asking: ["f"])
        try relay.call("f", "g", saying: "Look. ")
        #expect(relay.tools.runs.map(\.name) == ["g"])
        try relay.end(0, "1")
        #expect(post.isComplete && relay.model.generations.count == 1)
        #expect(post.reader.lines.filter { $0.contains(#""name":"f""#) }.count == 1)
        #expect(relay.steps(post) == ["g done 1"])
    }

    @Test func approvedCallsRunBeforeTheModelIsAsked() throws {
        let relay = TestRelay()
        let post = relay.post("Yes", offering: ["f"], asking: ["f"], approving: ["f", "x"])
        #expect(relay.tools.runs.map(\.name) == ["f"] && relay.model.generations.isEmpty)
        try relay.end(0, "1")
        let prompts = try relay.answer().prompts
        #expect(prompts.prefix(3) == ["user: Yes", "assistant: ", "tool: 1"])
        #expect(prompts.last?.hasPrefix("tool: Error: there is no tool of this name") == true)
        try relay.complete("Done.")
        #expect(post.isComplete && post.reader.text == "Done.")
    }

    @Test func approvedCallCountsForTheLimitOfTheRequest() throws {
        let relay = TestRelay()
        let post = relay.post("Yes", offering: ["f"], asking: ["f"], approving: ["f", "f"], atMost: 1)
        try relay.end(0, "1")
        #expect(relay.tools.runs.count == 1 && relay.steps(post).last?.contains("max_tool_calls") == true)
    }

    /// The process dies while the call is stored, or while it runs.
    @Test(arguments: [true, false]) func approvedCallRunsOnceThroughATakeover(isStored: Bool) throws {
        let relay = TestRelay()
        if !isStored { relay.store.faults[.storeSteps] = [.hang] }
        let post = relay.post("Yes", onInterrupt: .regenerate, offering: ["f"], asking: ["f"], approving: ["f"])
        #expect(relay.tools.runs.count == (isStored ? 1 : 0))
        let other = relay.takeOver()
        #expect(other.tools.runs.count == (isStored ? 0 : 1))
        if !isStored { try other.end(0, "1") }
        let result = try other.answer().prompts.last
        #expect(isStored ? result?.hasPrefix("tool: The outcome of this call is unknown") == true : result == "tool: 1")
        try other.complete("Done.")
        #expect(other.steps(post).count == 1)
    }

    @Test func requestLimitsTheCalls() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"], atMost: 2)
        try relay.call("f")
        try relay.end(0, "1")
        try relay.call("f", "f")
        try relay.end(1, "2")
        #expect(relay.tools.runs.count == 2)
        let refusal = "f failed Error: not run, because the request permits 2 calls (max_tool_calls)."
        #expect(relay.steps(post) == ["f done 1", "f done 2", refusal])
        try relay.call("f")
        #expect(relay.tools.runs.count == 2 && relay.steps(post).last == refusal)
        try relay.complete("ok")
        #expect(post.isComplete)
    }

    @Test func nextOwnerKeepsTheLimitOfCalls() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"], atMost: 1)
        try relay.call("f")
        try relay.end(0, "1")
        let other = relay.takeOver()
        try other.call("f")
        #expect(other.tools.runs.isEmpty && other.steps(post).last?.contains("max_tool_calls") == true)
        try other.complete("ok")
        #expect(other.steps(post).count == 2)
    }

    @Test func replyThatIsStoppedWhileItsCallsAreStoredRunsNone() throws {
        let relay = TestRelay()
        relay.store.faults[.storeSteps] = [.hang]
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        _ = relay.stop(post)
        relay.store.release(.storeSteps)
        relay.clock.settle()
        #expect(relay.tools.runs.isEmpty && post.ending?.hasPrefix("cancelled") == true)
    }

    @Test func stopAfterOneOfSeveralCallsRunsNoOther() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f", "f")
        relay.store.faults[.storeSteps] = [.hang]
        try relay.end(0, "1")
        _ = relay.stop(post)
        relay.store.release(.storeSteps)
        relay.clock.settle()
        #expect(relay.tools.runs.count == 1 && post.ending?.hasPrefix("cancelled") == true)
    }

    /// The next owner repeats what may be repeated.
    @Test func processThatStopsLeavesItsCallsAsRunning() throws {
        let relay = TestRelay()
        relay.tools.idempotent = ["f"]
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f")
        relay.run { service in service.endReplies() }
        #expect(relay.tools.runs[0].isCancelled && relay.steps(post)[0].hasPrefix("f running"))
        let other = relay.otherProcess()
        other.adopt()
        #expect(other.tools.runs.map(\.key) == [relay.tools.runs[0].key])
    }

    @Test func stopEndsTheToolsThatRun() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        _ = relay.stop(post)
        #expect(relay.tools.runs[0].isCancelled && post.ending?.hasPrefix("cancelled") == true)
        #expect(relay.steps(post)[0].hasPrefix("f unknown The call was stopped"))
        try relay.end(0, "late")
        #expect(relay.steps(post)[0].hasPrefix("f unknown The call was stopped"))
        #expect(relay.model.generations.count == 1)
    }
}
