import ChatterdChat
import ChatterdRelay
import Testing

/// Calls of tools that wait for the approval of a person.
@Suite(.timeLimit(.minutes(30))) struct ApprovalTests {
    private func relay(asking names: String..., limits: RelayLimits = RelayLimits()) -> TestRelay {
        let relay = TestRelay(limits)
        relay.tools.asking = names
        return relay
    }

    @Test func callRunsAfterItsApproval() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        try relay.call("f")
        #expect(relay.tools.runs.isEmpty && post.reader.steps == ["0.0 f asked"])
        #expect(relay.steps(post) == ["f asked The call was not made: no person has approved it."])
        #expect(relay.answer(post, .approved) == nil)
        #expect(relay.tools.runs.count == 1 && post.reader.steps.last == "0.0 f running")
        try relay.end(0, "1")
        try relay.complete("ok")
        #expect(post.isComplete && relay.steps(post) == ["f done 1"])
    }

    @Test func modelReadsARefusal() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        try relay.call("f")
        #expect(relay.answer(post, .refused) == nil)
        #expect(relay.tools.runs.isEmpty && post.reader.steps == ["0.0 f asked", "0.0 f refused"])
        #expect(try relay.answer().prompts.last == "tool: The person has refused this call.")
        try relay.complete("ok")
        #expect(post.isComplete && relay.steps(post) == ["f refused The person has refused this call."])
    }

    @Test func callWithoutAnAnswerInTimeIsRefused() throws {
        let relay = relay(asking: "f", "g")
        let post = relay.post("Hi", offering: ["f", "g"])
        try relay.call("f", "g")
        relay.clock.advance(by: RelayLimits().approvalTimeout - .seconds(10))
        #expect(relay.model.generations.count == 1 && post.reader.ends.isEmpty)
        relay.clock.advance(by: .seconds(20))
        #expect(relay.tools.runs.isEmpty)
        let last = try relay.answer().prompts.suffix(2)
        #expect(
            last.allSatisfy { $0 == "tool: The call was not made: no person has answered in time whether it may be." })
        #expect(relay.answer(post, .approved) == .callNotAsked)
        #expect(relay.tools.runs.isEmpty)
    }

    @Test func firstAnswerCounts() throws {
        let relay = relay(asking: "f")
        let (post, other) = (relay.post("Hi", offering: ["f"]), relay.otherProcess())
        try relay.call("f")
        #expect(other.answer(post, .refused) == nil)
        #expect(relay.answer(post, .approved) == .callNotAsked)
        #expect(relay.answer(post, .refused) == nil && other.answer(post, .refused) == nil)
        relay.clock.advance(by: .seconds(10))
        #expect(relay.tools.runs.isEmpty)
        try relay.complete("ok")
        #expect(
            post.isComplete && relay.answer(post, .refused) == nil && relay.answer(post, .approved) == .callNotAsked)
    }

    @Test func sameAnswerAgainChangesNothing() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        for _ in 0..<3 { #expect(relay.answer(post, .approved) == nil) }
        #expect(relay.tools.runs.count == 1)
        try relay.end(0, "1")
        #expect(relay.answer(post, .approved) == nil && relay.tools.runs.count == 1)
    }

    /// A call that does not exist, one that needs no approval, and one of a reply that has ended.
    @Test func callThatDoesNotWaitIsRefused() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f", "g"])
        #expect(relay.answer(post, .approved) == .callNotAsked)
        try relay.call("g", "f")
        #expect(
            relay.answer(post, .approved) == .callNotAsked && relay.answer(post, .approved, index: 2) == .callNotAsked)
        #expect(relay.answer(post, .approved, round: 1) == .callNotAsked)
        _ = relay.stop(post)
        #expect(relay.answer(post, .approved, index: 1) == .callNotAsked)
        #expect(relay.tools.runs.map(\.name) == ["g"])
    }

    /// An answer to a later call is taken while an earlier one waits; the calls run in their order.
    @Test func callsRunInTheirOrder() throws {
        let relay = relay(asking: "f", "g")
        let post = relay.post("Hi", offering: ["f", "g", "h"], followingSteps: true)
        try relay.call("h", "f", "g", "h")
        #expect(relay.tools.runs.map(\.name) == ["h"])
        #expect(post.reader.steps == ["0.0 h running", "0.1 f asked", "0.2 g asked", "0.3 h waiting"])
        #expect(relay.answer(post, .approved, index: 2) == nil)
        try relay.end(0, "1")
        #expect(relay.tools.runs.count == 1 && relay.steps(post)[2].hasPrefix("g waiting"))
        #expect(relay.answer(post, .approved, index: 1) == nil)
        #expect(relay.tools.runs.map(\.name) == ["h", "f"])
        try relay.end(1, "2")
        try relay.end(2, "3")
        try relay.end(3, "4")
        #expect(relay.tools.runs.map(\.name) == ["h", "f", "g", "h"])
        #expect(try relay.answer().prompts.suffix(4) == ["tool: 1", "tool: 2", "tool: 3", "tool: 4"])
    }

    @Test func toolsThatRunTogetherWaitForTheirApprovals() throws {
        let relay = relay(asking: "f", "g")
        (relay.tools.parallel) = ["f", "g"]
        let post = relay.post("Hi", offering: ["f", "g"])
        try relay.call("f", "g")
        #expect(relay.answer(post, .approved, index: 1) == nil && relay.tools.runs.isEmpty)
        #expect(relay.answer(post, .approved) == nil)
        #expect(relay.tools.runs.map(\.name) == ["f", "g"])
    }

    // MARK: - Processes

    @Test func answerAtAnotherShardComesAtOnce() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        #expect(relay.otherShard().answer(post, .approved) == nil)
        #expect(relay.tools.runs.count == 1)
    }

    @Test func answerAtAnotherProcessComesWithTheNextSignals() throws {
        let relay = relay(asking: "f")
        relay.startJournal()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        #expect(relay.otherProcess().answer(post, .approved) == nil)
        relay.clock.advance(by: RelayLimits().journalTick)
        #expect(relay.tools.runs.count == 1)
    }

    @Test func answerWhoseSignalIsLostIsFound() throws {
        let relay = relay(asking: "f")
        let (post, other) = (relay.post("Hi", offering: ["f"]), relay.otherProcess())
        try relay.call("f")
        other.store.faults[.signal] = [.unavailable]
        #expect(other.answer(post, .approved) == nil && relay.tools.runs.isEmpty)
        relay.clock.advance(by: RelayLimits().approvalPoll)
        #expect(relay.tools.runs.count == 1)
    }

    @Test func answerThatIsNotConfirmedMayBeGivenAgain() throws {
        let relay = relay(asking: "f")
        let (post, other) = (relay.post("Hi", offering: ["f"]), relay.otherProcess())
        try relay.call("f")
        other.store.faults[.answer] = [.lost]
        #expect(other.answer(post, .approved) == .storeUnavailable && other.answer(post, .approved) == nil)
        relay.clock.advance(by: RelayLimits().approvalPoll)
        #expect(relay.tools.runs.count == 1)
    }

    @Test func unavailableStoreDoesNotEndTheWait() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        relay.store.isUnavailable = true
        relay.clock.advance(by: .seconds(300))
        relay.store.isUnavailable = false
        #expect(post.reader.ends.isEmpty && relay.answer(post, .approved) == nil)
        #expect(relay.tools.runs.count == 1)
    }

    /// The owner dies while the call waits, before or after the answer.
    @Test(arguments: [true, false]) func waitOutlivesItsProcess(isAnsweredBefore: Bool) throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f", saying: "Look. ")
        let third = relay.otherProcess()
        if isAnsweredBefore { #expect(third.answer(post, .approved) == nil) }
        let other = relay.takeOver()
        let reader = try other.read(post, followingSteps: true)
        if !isAnsweredBefore {
            #expect(other.tools.runs.isEmpty && reader.steps == ["0.0 f asked"])
            #expect(third.answer(post, .approved) == nil)
            other.clock.advance(by: RelayLimits().approvalPoll)
        }
        #expect(other.tools.runs.map(\.name) == ["f"] && relay.tools.runs.isEmpty)
        try other.end(0, "1")
        try other.complete("Done.")
        #expect(reader.text == "Look. Done.")
    }

    @Test func processThatStopsLeavesTheWaitToAnother() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f")
        relay.run { service in service.endReplies() }
        #expect(relay.steps(post)[0].hasPrefix("f asked"))
        let other = relay.otherProcess()
        other.adopt()
        #expect(other.answer(post, .approved) == nil && other.tools.runs.count == 1)
    }

    /// As a process of other settings leaves it.
    @Test(arguments: [true, false]) func adoptedCallWithoutAnApprovalIsAskedFor(isApproved: Bool) throws {
        let relay = TestRelay()
        relay.tools.idempotent = ["f"]
        let post = relay.post("Hi", onInterrupt: .regenerate, offering: ["f"])
        try relay.call("f")
        if isApproved, let id = post.id { relay.database.replies[id]?.approvals = "0.0=yes" }
        relay.tools.asking = ["f"]
        let other = relay.takeOver()
        #expect(other.tools.runs.count == (isApproved ? 1 : 0))
        #expect(other.steps(post)[0].hasPrefix(isApproved ? "f running" : "f asked"))
    }

    // MARK: - Ends

    @Test func stopEndsTheWait() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        try relay.call("f")
        _ = relay.stop(post)
        #expect(post.ending?.hasPrefix("cancelled") == true && relay.tools.runs.isEmpty)
        #expect(post.reader.steps == ["0.0 f asked", "0.0 f refused"])
        #expect(relay.steps(post)[0].contains("the answer was stopped before it"))
        #expect(relay.answer(post, .approved) == .callNotAsked)
    }

    @Test func deletionEndsTheWait() throws {
        let relay = relay(asking: "f")
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f")
        relay.delete()
        relay.clock.advance(by: RelayLimits().approvalPoll)
        #expect(post.isOver && relay.tools.runs.isEmpty)
    }

    /// A call whose question is not stored is not asked.
    @Test func questionIsStoredBeforeAReaderSeesIt() throws {
        let relay = relay(asking: "f")
        relay.store.faults[.storeSteps] = [.hang]
        let post = relay.post("Hi", offering: ["f"], followingSteps: true)
        try relay.call("f")
        #expect(post.reader.steps.isEmpty && relay.answer(post, .approved) == .callNotAsked)
        relay.store.release(.storeSteps)
        relay.clock.settle()
        #expect(post.reader.steps == ["0.0 f asked"])
    }

    /// An answer that comes while the owner looks for answers is not missed.
    @Test func answerDuringALookIsTakenAtOnce() throws {
        let relay = relay(asking: "f")
        let other = relay.otherShard()
        let post = relay.post("Hi", offering: ["f"])
        relay.store.faults[.approvals] = [.hang]
        try relay.call("f")
        #expect(other.answer(post, .approved) == nil && relay.tools.runs.isEmpty)
        relay.store.release(.approvals)
        relay.clock.settle()
        #expect(relay.tools.runs.count == 1)
    }
}
