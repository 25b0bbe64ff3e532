import ChatterdChat
import ChatterdRelay
import Testing

@Suite(.timeLimit(.minutes(30))) struct LeavingTests {
    private static func relay(grace: Duration) -> TestRelay {
        var limits = RelayLimits()
        limits.disconnectGrace = grace
        return TestRelay(limits)
    }

    @Test func leavingClientCancelsTheAnswerWithoutAGrace() throws {
        let relay = Self.relay(grace: .zero)
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        post.subscription?.cancel()
        relay.clock.settle()
        #expect(try relay.answer().isCancelled)
        #expect(post.isOver)
        #expect(post.reader.ends.isEmpty)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hel [cancelled]"])
    }

    @Test func answerIsGeneratedAndStoredWithinTheGrace() throws {
        let relay = Self.relay(grace: .seconds(30))
        let post = relay.post("Hi")
        post.subscription?.cancel()
        relay.clock.advance(by: .seconds(29))
        #expect(try relay.answer().isCancelled == false)
        try relay.complete("Hello")
        #expect(post.isOver)
        #expect(post.reader.lines.isEmpty)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
        relay.clock.advance(by: .seconds(60))
    }

    @Test func answerIsCancelledAfterTheGraceAndItsTextIsKept() throws {
        let relay = Self.relay(grace: .seconds(30))
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        post.subscription?.cancel()
        relay.clock.advance(by: .seconds(30))
        #expect(try relay.answer().isCancelled)
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hel [cancelled]"])
    }

    @Test func readerThatArrivesOnAnotherShardAsTheLastOneLeavesKeepsTheReply() throws {
        let relay = Self.relay(grace: .zero)
        let other = relay.otherShard()
        let post = relay.post("Hi")
        // The shard of the reply knows nothing of the reader yet.
        let reader = try other.read(post) { post.subscription?.cancel() }
        #expect(try relay.answer().isCancelled == false)
        try relay.complete("Hello")
        #expect(reader.text == "Hello")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    @Test func leavingOfTheLastReaderOnAnotherShardIsNoticedAtOnce() throws {
        let relay = Self.relay(grace: .zero)
        let other = relay.otherShard()
        let post = relay.post("Hi")
        let reader = try other.read(post)
        post.subscription?.cancel()
        relay.clock.advance(by: .seconds(60))
        #expect(try relay.answer().isCancelled == false)
        other.subscription(of: reader)?.cancel()
        relay.clock.settle()
        #expect(try relay.answer().isCancelled)
        #expect(post.isOver)
    }

    @Test func readerThatReturnsOnAnotherShardGetsNewText() throws {
        let relay = Self.relay(grace: .seconds(30))
        let other = relay.otherShard()
        let post = relay.post("Hi")
        let reader = try other.read(post)
        other.subscription(of: reader)?.cancel()
        relay.clock.settle()
        try relay.answer().send("one ")
        let again = try other.read(post)
        try relay.complete("two")
        #expect(again.text == "one two" && again.isDone)
    }

    @Test func readerInAnotherProcessCountsWhenTheLocalReaderLeaves() throws {
        let relay = Self.relay(grace: .zero)
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi")
        _ = try otherProcess.read(post)
        relay.clock.advance(by: .seconds(1))
        relay.database.signals = [:]
        post.subscription?.cancel()
        relay.clock.advance(by: .seconds(8))
        #expect(try relay.answer().isCancelled == false)
    }

    @Test func fullReaderDoesNotBlockAReaderInAnotherProcess() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi")
        post.reader.isFull = true
        try relay.answer().send("one ")
        #expect(try relay.answer().isPaused)
        let reader = try otherProcess.read(post)
        relay.clock.advance(by: .seconds(1))
        #expect(try relay.answer().isPaused == false)
        try relay.answer().send("two ")
        #expect(try relay.answer().isPaused == false)
        relay.clock.advance(by: .seconds(1))
        #expect(reader.text == "one two ")
    }

    @Test func leavingClientCancelsItsWaitingTurn() throws {
        let relay = Self.relay(grace: .zero)
        relay.post("one")
        let second = relay.post("two")
        let third = relay.post("three")
        second.subscription?.cancel()
        relay.clock.settle()
        #expect(second.isOver)
        #expect(relay.database.transcript().contains("assistant:  [cancelled]"))
        try relay.complete("1")
        #expect(try relay.answer().prompts == ["user: one", "assistant: 1", "user: three"])
        #expect(!third.isOver)
    }

    @Test func replyWithACancelledWaitIsReleased() throws {
        let relay = Self.relay(grace: .zero)
        let other = relay.otherShard()
        relay.post("one")
        let second = other.post("two")
        weak let waiting = second.reply
        second.subscription?.cancel()
        relay.clock.settle()
        #expect(second.isOver)
        #expect(waiting == nil)
    }

    @Test func leavingDuringTheStorageHasNoEffect() throws {
        let relay = Self.relay(grace: .zero)
        relay.store.faults[.closeTurn] = [.hang]
        let post = relay.post("Hi")
        try relay.complete("Hello")
        post.subscription?.cancel()
        relay.store.release(.closeTurn)
        relay.clock.settle()
        #expect(post.isOver)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    @Test func leavingTwiceOrAfterTheEndHasNoEffect() throws {
        let relay = Self.relay(grace: .seconds(1))
        let post = relay.post("Hi")
        let reply = try #require(post.reply)
        try relay.complete("Hello")
        post.subscription?.cancel()
        post.subscription?.cancel()
        reply.cancel(RelayError(.cancelled, "late"))
        relay.clock.advance(by: .seconds(5))
        #expect(post.isComplete)
        #expect(relay.database.rows().count == 2)
    }

    @Test func readerGetsTheReasonOfACancellationOnce() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        post.reply?.cancel(RelayError(.shuttingDown, "one"))
        post.reply?.cancel(RelayError(.cancelled, "two"))
        relay.clock.settle()
        #expect(post.code == .shuttingDown)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hel [interrupted]"])
    }
}
