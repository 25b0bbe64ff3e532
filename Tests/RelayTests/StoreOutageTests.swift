import LanguageModels
import Relay
import Testing

@Suite(.timeLimit(.minutes(15))) struct StoreOutageTests {
    @Test func aPromptThatCannotBeStoredIsRefused() {
        let relay = TestRelay()
        relay.store.isAway = true
        let post = relay.post("Hi")
        #expect(post.refusal?.code == .storeUnavailable)
        #expect(relay.database.rows().isEmpty)
        #expect(relay.board.count == 0)
    }

    @Test func aStoreThatComesBackWithinThePatienceHidesItsAbsence() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        relay.store.isAway = true
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(5))
        #expect(post.reader.ends.isEmpty)
        relay.store.isAway = false
        relay.clock.advance(by: .seconds(1))
        #expect(post.isComplete && post.isOver)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    @Test func aStoreThatStaysAwayEndsTheStreamAndIsGivenTheTextWhenItIsBack() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        relay.store.isAway = true
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(9))
        #expect(post.reader.ends.isEmpty)
        relay.clock.advance(by: .seconds(2))
        #expect(post.code == .replyNotStored)
        #expect(!post.reader.isDone)
        #expect(!post.isOver)
        relay.clock.advance(by: .seconds(600))
        relay.store.isAway = false
        relay.clock.advance(by: .seconds(30))
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [failed]"])
        #expect(relay.board.count == 0)
    }

    @Test(arguments: [0, 30, 700])
    func thePatienceCountsTheMilliseconds(_ milliseconds: Int) throws {
        var limits = RelayLimits()
        limits.storePatience = .milliseconds(milliseconds)
        let relay = TestRelay(limits)
        let post = relay.post("Hi")
        relay.store.isAway = true
        try relay.complete("Hello")
        if milliseconds > 0 {
            relay.clock.advance(by: .milliseconds(milliseconds - 1))
            #expect(post.reader.ends.isEmpty)
            relay.clock.advance(by: .milliseconds(1))
        }
        #expect(post.code == .replyNotStored)
    }

    @Test func aReplyThatTheStoreRefusesLeavesTheConversationUsable() throws {
        let relay = TestRelay()
        relay.store.refused = [.closeTurn]
        let post = relay.post("one")
        try relay.complete("1")
        #expect(post.code == .replyNotStored)
        #expect(post.isOver)
        #expect(relay.board.count == 0)
        relay.store.refused = []
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: two"])
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]", "user: two"])
    }

    @Test func whatTheLastLineSaidIsReadEvenIfItCouldNotBeStored() throws {
        let relay = TestRelay()
        relay.store.refused = [.closeTurn]
        let post = relay.post("Hi")
        try relay.answer().say("Hel")
        try relay.answer().send(#"{"model":"m","message":{"role":"assistant","content":"lo"},"done":true}"#)
        try relay.answer().end(nil)
        relay.clock.settle()
        #expect(post.code == .replyNotStored && post.isOver)
        #expect(post.reader.text == "Hello")
        #expect(post.reader.positions.last == ReplyPosition(text: 5, isEnd: true))
    }

    @Test func aTurnThatCannotEvenBeMarkedIsNotWaitedFor() throws {
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

    @Test func aLostConfirmationIsNotTakenForALostReply() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.lost]
        let post = relay.post("Hi")
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(1))
        #expect(post.isComplete)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
        #expect(relay.store.count(.closeTurn) == 2)
    }

    @Test func aReplyThatWasToldToBeLostIsNotReplayed() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.lost]
        let post = relay.post("one")
        try relay.complete("1")
        relay.store.isAway = true
        relay.clock.advance(by: .seconds(11))
        #expect(post.code == .replyNotStored)
        relay.store.isAway = false
        relay.clock.advance(by: .seconds(5))
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [failed]"])
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: two"])
    }

    @Test func aPromptWhoseConfirmationWasLostIsSettledByTheNextTurn() throws {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.lost]
        let first = relay.post("one")
        #expect(first.refusal?.code == .storeUnavailable)
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: two"])
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]", "user: two"])
    }

    @Test func aTurnThatFailedWhileTheStoreWasAwayIsClosedLater() throws {
        let relay = TestRelay()
        let post = relay.post("one")
        relay.store.isAway = true
        try relay.answer().say("par")
        try relay.answer().fail(.silenceTimeout)
        relay.clock.settle()
        #expect(post.code == .model(.silenceTimeout))
        relay.store.isAway = false
        relay.clock.advance(by: .seconds(1))
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: par [failed]"])
    }

    @Test func aStoreThatIsAwayWhileATurnWaitsFailsThatTurnOnly() throws {
        let relay = TestRelay()
        let first = relay.post("one")
        let second = relay.post("two")
        relay.store.faults[.history] = [.away]
        try relay.complete("1")
        #expect(first.isComplete)
        #expect(second.code == .storeUnavailable)
        #expect(second.isOver)
        #expect(relay.database.transcript().last == "assistant:  [failed]")
    }
}
