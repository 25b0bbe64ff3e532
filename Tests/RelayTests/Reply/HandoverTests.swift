import ChatterdChat
import ChatterdRelay
import Testing

/// A stopping process hands replies over to the others.
@Suite(.timeLimit(.minutes(30))) struct HandoverTests {
    /// Whether the reader of a handed-over reply got an error, and no end.
    private static func isSentAway(_ post: SentPrompt) -> Bool {
        post.code == .shuttingDown && post.reader.endings.isEmpty
    }

    @Test func promptThatWaitsForItsTurnIsHandedOver() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        let first = relay.post("one")
        try relay.answer().send("half")
        let second = relay.post("two")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        // The reply with text is stored, as its client has not asked for `regenerate`.
        #expect(first.code == .shuttingDown && first.reader.endings.count == 1)
        #expect(Self.isSentAway(second) && second.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: half [interrupted]", "user: two"])
        #expect(relay.board.count == 0)
        other.adopt()
        #expect(try other.answer().prompts == ["user: one", "assistant: half", "user: two"])
        try other.complete("2")
        #expect(relay.database.transcript().last == "assistant: 2 [complete]")
    }

    @Test func promptWithoutAnyAnswerIsHandedOver() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        let post = relay.post("one")
        #expect(relay.model.generations.count == 1)
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(Self.isSentAway(post))
        other.adopt()
        try other.complete("1")
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
    }

    @Test func promptThatIsStoredDuringTheStopIsHandedOver() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.store.faults[.openTurn] = [.hang]
        let post = relay.post("one")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.store.release(.openTurn)
        relay.clock.settle()
        #expect(Self.isSentAway(post))
        other.adopt()
        try other.complete("1")
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
    }

    @Test func replyToBeRegeneratedIsHandedOver() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("one", onInterrupt: .regenerate)
        try relay.answer().send("half")
        relay.clock.advance(by: .seconds(1))
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(Self.isSentAway(post))
        other.adopt()
        let reader = try other.read(post)
        try other.complete("whole")
        other.clock.advance(by: .seconds(1))
        #expect(reader.text == "whole" && reader.endings.count == 1)
        #expect(relay.database.transcript() == ["user: one", "assistant: whole [complete]"])
        let id = try #require(post.id)
        #expect(relay.database.replies[id]?.attempt == 2 && relay.database.replies[id]?.adoptions == 0)
    }

    @Test func replyWhoseHandoverIsRefusedIsStored() throws {
        let relay = TestRelay()
        relay.store.faults[.handOver] = [.unavailable]
        let post = relay.post("one")
        relay.service.endReplies()
        relay.clock.settle()
        #expect(post.code == .shuttingDown && post.reader.endings.count == 1)
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]"])
    }

    @Test func replyWhoseHandoverIsNotConfirmedIsNotClosed() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.store.faults[.handOver] = [.lost]
        let post = relay.post("one")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.advance(by: .seconds(1))
        #expect(Self.isSentAway(post))
        other.adopt()
        try other.complete("1")
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
    }

    @Test func ticketOfAHandedOverPromptStaysInTheQueue() throws {
        let cluster = SlotCluster()
        let running = cluster.process.request("a")
        let waiting = cluster.process.request("b")
        let other = cluster.addProcess()
        let later = other.request("c")
        cluster.process.queue.keep(waiting.ticket)
        cluster.process.queue.keep(running.ticket)
        cluster.clock.advance(by: .seconds(3))
        #expect(waiting.outcome == .cancelled)
        cluster.slots.dead = [1]
        // The reply keeps its position in any process: before the later reply.
        let adopted = other.request("b", reply: waiting.ticket.reply)
        cluster.clock.advance(by: .seconds(3))
        #expect(adopted.hasSlot && !later.hasSlot)
    }
}
