import ChatterdChat
import ChatterdRelay
import Testing

/// A prompt that is stored although there was no memory for its conversation.
@Suite(.timeLimit(.minutes(30))) struct UnreadHistoryTests {
    @Test func historyIsReadBeforeTheModelIsAsked() throws {
        let relay = TestRelay()
        relay.post("one")
        try relay.complete("1")
        relay.store.leavesHistoriesUnread = true
        let second = relay.post("two")
        #expect(try relay.answer().prompts == ["user: one", "assistant: 1", "user: two"])
        try relay.complete("2")
        #expect(second.isComplete)
    }

    @Test func replyWaitsForMemory() throws {
        let relay = TestRelay()
        relay.store.leavesHistoriesUnread = true
        relay.store.faults[.history] = [.overloaded, .overloaded]
        let reply = relay.post("one")
        #expect(relay.model.generations.isEmpty)
        relay.clock.advance(by: .seconds(5))
        #expect(try relay.answer().prompts == ["user: one"])
        try relay.complete("1")
        #expect(reply.isComplete)
    }

    @Test func replyFailsAfterTheMemoryTimeout() {
        let relay = TestRelay()
        relay.store.leavesHistoriesUnread = true
        relay.store.faults[.history] = Array(repeating: .overloaded, count: 1_000)
        let reply = relay.post("one")
        relay.clock.advance(by: .seconds(5))
        #expect(reply.code == nil)
        relay.clock.advance(by: .seconds(10))
        #expect(reply.code == .overloaded)
        #expect(relay.model.generations.isEmpty)
        #expect(relay.database.transcript() == ["user: one", "assistant:  [failed]"])
    }

    @Test func stoppedReplyDoesNotWaitForMemory() {
        let relay = TestRelay()
        relay.store.leavesHistoriesUnread = true
        relay.store.faults[.history] = Array(repeating: .overloaded, count: 1_000)
        let reply = relay.post("one")
        reply.reply?.cancel(RelayError(.cancelled, "stopped"))
        relay.clock.settle()
        #expect(reply.isOver && relay.board.count == 0)
    }
}
