import LanguageModels
import Relay
import Testing

struct StopTests {
    @Test func whoIsBeingStoppedTakesNothingNew() throws {
        let relay = TestRelay()
        let running = relay.post("one")
        relay.service.stopAccepting()
        #expect(relay.post("two").refusal?.code == .shuttingDown)
        #expect(relay.replace(with: "x").refusal?.code == .shuttingDown)
        try relay.complete("1")
        #expect(running.isComplete)
    }

    @Test func repliesThatAreEndedSayWhyAndKeepTheirText() throws {
        let relay = TestRelay()
        let generating = relay.post("one")
        let waiting = relay.post("two")
        try relay.answer().say("par")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(generating.code == .shuttingDown && generating.isOver)
        #expect(waiting.code == .shuttingDown && waiting.isOver)
        #expect(
            relay.database.transcript() == [
                "user: one", "assistant: par [interrupted]", "user: two", "assistant:  [interrupted]",
            ])
        #expect(relay.board.count == 0)
    }

    @Test func aReplyThatIsBeingStoredIsWaitedFor() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.hang]
        let post = relay.post("one")
        try relay.complete("1")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(!post.isOver)
        relay.store.release(.closeTurn)
        relay.clock.settle()
        #expect(post.isComplete && post.isOver)
    }

    @Test func aStoreThatIsAwayDoesNotHoldUpTheStop() throws {
        let relay = TestRelay()
        let whole = relay.post("one", appID: "a")
        let broken = relay.post("two", appID: "b")
        relay.store.isAway = true
        try relay.answer(0).finish()
        try relay.answer(1).fail(.failed)
        relay.clock.settle()
        #expect(!whole.isOver && !broken.isOver)
        relay.service.stopAccepting()
        relay.clock.settle()
        #expect(whole.isOver && whole.code == .replyNotStored)
        #expect(broken.isOver && broken.code == .model(.failed))
        #expect(relay.board.count == 0)
    }

    @Test func aPromptThatWasOnItsWayWhenAllWasEndedIsEndedToo() throws {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.hang]
        let post = relay.post("one")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.store.release(.openTurn)
        relay.clock.settle()
        #expect(post.code == .shuttingDown && post.isOver)
        #expect(relay.model.generations.isEmpty)
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]"])
    }
}
