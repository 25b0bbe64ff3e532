import ChatterdChat
import ChatterdRelay
import Testing

@Suite(.timeLimit(.minutes(30))) struct StopTests {
    @Test func stoppingProcessRefusesPrompts() throws {
        let relay = TestRelay()
        let running = relay.post("one")
        relay.service.stopAccepting()
        #expect(relay.post("two").refusal?.code == .shuttingDown)
        #expect(relay.replace(with: "x").refusal?.code == .shuttingDown)
        try relay.complete("1")
        #expect(running.isComplete)
    }

    @Test func stoppingProcessAdoptsNoReply() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        let post = relay.post("one", onInterrupt: .regenerate)
        let id = try #require(post.id)
        relay.database.dead = [1]
        otherProcess.service.stopAccepting()
        otherProcess.adopt()
        otherProcess.clock.settle()
        #expect(relay.database.replies[id]?.holder == 1 && otherProcess.board.count == 0)
    }

    @Test func endedRepliesGiveTheReasonAndKeepTheirText() throws {
        let relay = TestRelay()
        let generating = relay.post("one")
        let waiting = relay.post("two")
        try relay.answer().send("par")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(generating.code == .shuttingDown && generating.isOver)
        #expect(waiting.code == .shuttingDown && waiting.isOver)
        #expect(
            relay.database.transcript() == [
                // The reply without text is left to other processes.
                "user: one", "assistant: par [interrupted]", "user: two",
            ])
        #expect(relay.board.count == 0)
    }

    @Test(arguments: [false, true])
    func readersOfAnotherProcessesReplyDoNotDelayTheStop(isStoreUnavailable: Bool) throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("one")
        try relay.answer().send("par")
        relay.clock.advance(by: .seconds(1))
        let reader = try otherProcess.read(post)
        relay.clock.advance(by: .seconds(1))
        otherProcess.store.isUnavailable = isStoreUnavailable
        relay.clock.advance(by: .seconds(1))
        otherProcess.service.stopAccepting()
        relay.clock.settle()
        #expect(reader.ends.map(\.?.code) == [.shuttingDown] && reader.endings.isEmpty)
        #expect(reader.text == "par")
        #expect(!post.isOver)
    }

    @Test func readerOfAnotherShardsReplyGetsItsEnd() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        let post = relay.post("one")
        let reader = try other.read(post)
        relay.service.stopAccepting()
        other.service.stopAccepting()
        relay.clock.settle()
        #expect(reader.ends.isEmpty)
        try relay.complete("1")
        #expect(reader.text == "1" && reader.isDone)
    }

    @Test func stopWaitsForAReplyThatIsBeingStored() throws {
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

    @Test func unavailableStoreDoesNotDelayTheStop() throws {
        let relay = TestRelay()
        let whole = relay.post("one", appID: "a")
        let broken = relay.post("two", appID: "b")
        relay.store.isUnavailable = true
        try relay.answer(0).finish()
        try relay.answer(1).fail(.failed)
        relay.clock.settle()
        #expect(!whole.isOver && !broken.isOver)
        relay.service.stopAccepting()
        relay.clock.settle()
        #expect(whole.isOver && whole.interimError == .storeUnavailable)
        #expect(broken.isOver && broken.interimError == .storeUnavailable)
        #expect(relay.board.count == 0)
    }

    @Test func replyThatIsEndedWithoutAStoreAnnouncesNoEnd() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        let post = relay.post("one")
        try relay.answer().send("par")
        relay.store.isUnavailable = true
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(post.interimError == .shuttingDown && post.isOver)
        #expect(relay.board.count == 0)
        // The row is left to other processes.
        relay.database.dead = [relay.store.process]
        otherProcess.post("two")
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]", "user: two"])
    }

    @Test func promptThatIsStoredDuringTheStopEndsToo() throws {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.hang]
        let post = relay.post("one")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.store.release(.openTurn)
        relay.clock.settle()
        #expect(post.code == .shuttingDown && post.isOver)
        #expect(relay.model.generations.isEmpty)
        #expect(relay.database.transcript() == ["user: one"])
    }
}
