import ChatterdChat
import ChatterdRelay
import Testing

@Suite(.timeLimit(.minutes(30))) struct StoreOutageTests {
    @Test func promptThatCannotBeStoredIsRefused() {
        let relay = TestRelay()
        relay.store.isUnavailable = true
        let post = relay.post("Hi")
        #expect(post.refusal?.code == .storeUnavailable)
        #expect(relay.database.rows().isEmpty)
        #expect(relay.board.count == 0)
    }

    @Test func outageWithinTheTimeoutIsNotNoticed() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        relay.store.isUnavailable = true
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(5))
        #expect(post.reader.ends.isEmpty)
        relay.store.isUnavailable = false
        relay.clock.advance(by: .seconds(1))
        #expect(post.isComplete && post.isOver)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    @Test func readersGetAnErrorAndTheAnswerIsStoredAfterTheOutage() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        relay.store.isUnavailable = true
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(9))
        #expect(post.reader.ends.isEmpty)
        relay.clock.advance(by: .seconds(2))
        #expect(post.interimError == .storeUnavailable)
        #expect(!post.reader.isDone)
        #expect(!post.isOver)
        relay.clock.advance(by: .seconds(600))
        relay.store.isUnavailable = false
        relay.clock.advance(by: .seconds(30))
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
        #expect(relay.board.count == 0)
    }

    @Test(arguments: [0, 30, 700])
    func timeoutCountsMilliseconds(_ milliseconds: Int) throws {
        var limits = RelayLimits()
        limits.storeRetryTimeout = .milliseconds(milliseconds)
        let relay = TestRelay(limits)
        let post = relay.post("Hi")
        relay.store.isUnavailable = true
        try relay.complete("Hello")
        if milliseconds > 0 {
            relay.clock.advance(by: .milliseconds(milliseconds - 1))
            #expect(post.reader.ends.isEmpty)
            relay.clock.advance(by: .milliseconds(1))
        }
        #expect(post.interimError == .storeUnavailable)
    }

    @Test func readerThatComesBackGetsTheEndOnceItIsStored() throws {
        let relay = TestRelay()
        let otherShard = relay.otherShard()
        let post = relay.post("Hi")
        let elsewhere = try otherShard.read(post)
        relay.store.isUnavailable = true
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(11))
        #expect(post.interimError == .storeUnavailable)
        relay.clock.advance(by: .seconds(11))
        #expect(elsewhere.text == "Hello" && elsewhere.endings.isEmpty)
        #expect(elsewhere.ends.map(\.?.code) == [.storeUnavailable])
        // The look-up fails while the store is unavailable; a readable row is enough.
        relay.store.isUnavailable = false
        relay.store.faults[.closeTurn] = [.unavailable]
        let late = try relay.read(post)
        #expect(late.text == "Hello" && late.ends.isEmpty)
        relay.clock.advance(by: .seconds(20))
        #expect(late.ending == "complete" && late.isDone)
    }

    @Test func repliesThatWaitForTheStoreCountTowardsTheLimit() throws {
        var limits = RelayLimits()
        limits.maximumReplies = 1
        let relay = TestRelay(limits)
        let post = relay.post("Hi", appID: "a")
        relay.store.isUnavailable = true
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(11))
        #expect(post.interimError == .storeUnavailable)
        relay.store.isUnavailable = false
        relay.store.faults[.closeTurn] = [.unavailable]
        #expect(relay.post("Hi", appID: "b").refusal?.code == .overloaded)
        relay.clock.advance(by: .seconds(30))
        #expect(relay.board.count == 0)
        #expect(relay.post("Hi", appID: "b").refusal == nil)
    }

    @Test func refusedAnswerIsMarkedAndReplayed() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.refused]
        let post = relay.post("one")
        try relay.answer().send("Hel")
        try relay.answer().sendLine(#"{"model":"m","message":{"role":"assistant","content":"lo"},"done":true}"#)
        try relay.answer().end(nil)
        relay.clock.settle()
        #expect(post.ending == "failed reply_not_stored" && post.isOver)
        // The reader still gets the text of the last line.
        #expect(post.reader.text == "Hello")
        #expect(post.reader.positions.last == ReplyPosition(text: 5, isEnd: true))
        #expect(relay.database.transcript() == ["user: one", "assistant: Hello [failed]"])
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: one", "assistant: Hello", "user: two"])
    }

    @Test func answerThatIsRefusedWithItsTextIsMarkedWithoutIt() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.refused, .refused]
        let post = relay.post("one")
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "failed reply_not_stored" && post.isOver)
        #expect(post.reader.resets == 1 && post.reader.text.isEmpty)
        #expect(post.reader.positions.last == ReplyPosition(isEnd: true))
        #expect(relay.database.transcript() == ["user: one", "assistant:  [failed]"])
    }

    @Test func failureThatIsRefusedWithItsTextKeepsItsReason() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.refused]
        let post = relay.post("one")
        try relay.answer().send("par")
        try relay.answer().fail(.silenceTimeout)
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "failed upstream_silence_timeout" && post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant:  [failed]"])
    }

    @Test func answerThatTheStoreRefusesEntirelyLeavesTheConversationUsable() throws {
        let relay = TestRelay()
        relay.store.refused = [.closeTurn]
        let post = relay.post("one")
        try relay.complete("1")
        #expect(post.interimError == .storeUnavailable)
        #expect(post.isOver)
        #expect(relay.board.count == 0)
        relay.store.refused = []
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: two"])
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]", "user: two"])
    }

    @Test func lateCommitOfACloseIsNotContradicted() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.lost, .refused]
        let post = relay.post("one")
        try relay.complete("1")
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "complete" && post.reader.isDone && post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
    }

    @Test func laterTurnDoesNotWaitForATurnThatCannotBeMarked() throws {
        let relay = TestRelay()
        relay.store.refused = [.closeTurn, .settleTurn]
        relay.post("one")
        try relay.complete("1")
        let second = relay.post("two")
        #expect(try relay.answer().prompts == ["user: two"])
        relay.store.refused = [.settleTurn]
        try relay.complete("2")
        #expect(second.isComplete)
    }

    @Test func lostConfirmationIsNoLostReply() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.lost]
        let post = relay.post("Hi")
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(1))
        #expect(post.isComplete)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
        #expect(relay.store.count(.closeTurn) == 2)
    }

    @Test func answerWithAnUnconfirmedEndIsReplayedIfItIsStored() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.lost]
        let post = relay.post("one")
        try relay.complete("1")
        relay.store.isUnavailable = true
        relay.clock.advance(by: .seconds(11))
        #expect(post.interimError == .storeUnavailable)
        relay.store.isUnavailable = false
        relay.clock.advance(by: .seconds(5))
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: one", "assistant: 1", "user: two"])
    }

    @Test func unconfirmedPromptIsWithdrawnByTheNextTurn() throws {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.lost]
        let first = relay.post("one")
        #expect(first.refusal?.code == .storeUnavailable)
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: two"])
        #expect(relay.database.transcript() == ["user: two"])
    }

    @Test func turnThatFailedDuringAnOutageIsClosedLater() throws {
        let relay = TestRelay()
        let post = relay.post("one")
        relay.store.isUnavailable = true
        try relay.answer().send("par")
        try relay.answer().fail(.silenceTimeout)
        relay.clock.settle()
        #expect(post.reader.ends.isEmpty)
        relay.store.isUnavailable = false
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "failed upstream_silence_timeout" && post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: par [failed]"])
    }

    @Test func outageDuringTheWaitOfATurnFailsThatTurnOnly() throws {
        let relay = TestRelay()
        let first = relay.post("one")
        let second = relay.post("two")
        relay.store.faults[.history] = [.unavailable]
        try relay.complete("1")
        #expect(first.isComplete)
        #expect(second.code == .storeUnavailable)
        #expect(second.isOver)
        #expect(relay.database.transcript().last == "assistant:  [failed]")
    }
}
