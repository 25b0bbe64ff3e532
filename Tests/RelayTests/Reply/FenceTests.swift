import ChatterdChat
import ChatterdRelay
import Testing

/// A process announces only the stored end of a reply that it no longer owns.
@Suite(.timeLimit(.minutes(30))) struct FenceTests {
    /// More than a tick.
    private static let round = Duration.milliseconds(250)

    @Test func readersOfAnAdoptedReplyGetTheNewAttempt() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        otherProcess.startJournal()
        let post = relay.post("Hi", onInterrupt: .regenerate)
        let lagging = try relay.read(post)
        lagging.isFull = true
        try relay.answer().send("one ")
        relay.database.dead = [1]
        otherProcess.adopt()
        try relay.answer().send("more ")
        relay.clock.advance(by: Self.round)
        #expect(try relay.answer().isCancelled)
        #expect(post.reader.ends.isEmpty)
        try otherProcess.answer().send("two")
        relay.clock.advance(by: Self.round)
        #expect(post.reader.resets == 1 && post.reader.text == "two")
        try otherProcess.answer().finish()
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "complete" && post.reader.text == "two" && post.reader.isDone)
        #expect(post.reader.positions.last == ReplyPosition(attempt: 2, text: 3, isEnd: true))
        #expect(relay.database.transcript() == ["user: Hi", "assistant: two [complete]"])
        // A reader that was full meanwhile gets the same.
        lagging.isFull = false
        relay.subscription(of: lagging)?.listenerIsReady()
        relay.clock.advance(by: .seconds(1))
        #expect(lagging.ending == "complete" && lagging.text == "two")
        relay.clock.advance(by: .seconds(20))
        #expect(post.isOver && relay.board.count == 0)
    }

    @Test func readersOnOtherShardsContinueToo() throws {
        let relay = TestRelay()
        let otherShard = relay.otherShard()
        let otherProcess = relay.otherProcess()
        relay.startJournal(otherShard)
        let post = relay.post("Hi")
        let reader = try otherShard.read(post)
        try relay.answer().send("one")
        relay.clock.settle()
        #expect(reader.text == "one")
        relay.database.dead = [1]
        otherProcess.post("two")
        try relay.answer().send(" more")
        relay.clock.advance(by: .seconds(1))
        #expect(reader.ending == "interrupted interrupted" && reader.text.isEmpty)
        #expect(post.ending == "interrupted interrupted")
        relay.clock.advance(by: .seconds(20))
    }

    @Test func stopOfAReplyThatWasClosedElsewhereIsNotAnnounced() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        relay.clock.advance(by: Self.round)
        // The signal to stop waits for the process, while another one considers it dead and closes the reply.
        relay.database.signals[1] = post.id.map { [ReplySignal(id: $0, kind: .stop)] }
        relay.database.dead = [1]
        otherProcess.post("again")
        try relay.answer().send("lo")
        relay.clock.advance(by: .seconds(1))
        #expect(try relay.answer().isCancelled)
        #expect(post.ending == "interrupted interrupted")
        #expect(post.reader.text == "Hel" && post.reader.resets == 1)
    }

    @Test func replyThatWasAdoptedDuringTheStopAnnouncesNoEnd() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi", onInterrupt: .regenerate)
        try relay.answer().send("one ")
        relay.database.dead = [1]
        otherProcess.adopt()
        relay.service.stopAccepting()
        relay.clock.advance(by: Self.round)
        #expect(post.interimError == .shuttingDown)
        relay.clock.advance(by: .seconds(20))
        #expect(post.isOver && relay.board.count == 0)
    }

    @Test func replyWhoseJournalHasAGapEndsWithItsStoredText() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        // So much that the reply has rows of its own in the journal.
        try relay.answer().send(String(repeating: "one ", count: 30_000))
        relay.clock.advance(by: Self.round)
        // A standby without the journal becomes the primary.
        post.id.map {
            relay.database.replies[$0]?.page = ReplyPage(start: ReplyPosition())
            relay.database.replies[$0]?.saved = ReplyPage(start: ReplyPosition())
        }
        try relay.complete("two")
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "interrupted interrupted" && post.reader.resets == 1 && post.reader.text.isEmpty)
        #expect(relay.database.transcript() == ["user: Hi", "assistant:  [interrupted]"])
    }

    @Test func processDoesNotAdoptAReplyOnItsBoard() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi", onInterrupt: .regenerate)
        let id = try #require(post.id)
        relay.database.dead = [1]
        otherProcess.adopt()
        // The adopter dies as well; the first process is alive, and does not know yet.
        relay.database.dead = [2]
        relay.adopt()
        #expect(relay.database.replies[id]?.holder == 2 && relay.board.count == 1)
        try relay.answer().send("one ")
        relay.clock.advance(by: Self.round)
        #expect(relay.board.count == 0 && post.reader.ends.isEmpty)
        relay.adopt()
        #expect(relay.database.replies[id]?.attempt == 3 && relay.board.count == 1)
        try relay.complete("two")
        relay.clock.advance(by: .seconds(1))
        #expect(post.ending == "complete" && post.reader.text == "two" && relay.board.count == 0)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: two [complete]"])
        relay.clock.advance(by: .seconds(20))
    }
}
