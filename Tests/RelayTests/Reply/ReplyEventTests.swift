import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdRelay

/// What a service reports for the metrics and the log.
@Suite(.timeLimit(.minutes(30))) struct ReplyEventTests {
    @Test func replyIsReportedFromItsBeginToItsEnd() throws {
        let (relay, models) = TestRelay.withServers("a")
        relay.post("Hi")
        try models[0].last.complete("Hello")
        relay.clock.settle()
        #expect(relay.observed.words == ["began prompt", "answered", "a ok", "ended complete"])
        let facts = try #require(relay.observed.facts.first)
        #expect(facts.upstream == "a" && facts.requests == 1)
        #expect(facts.promptTokens == 1 && facts.answerTokens == 1)
    }

    @Test func partsOfTheFirstTokenAddUp() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        relay.post("one")
        relay.post("two")
        relay.clock.advance(by: .seconds(3))
        try models[0].last.complete("1")
        relay.clock.settle()
        relay.clock.advance(by: .seconds(2))
        try models[0].last.fail(.failed)
        relay.clock.settle()
        relay.clock.advance(by: .seconds(5))
        try models[1].last.send("2")
        #expect(
            relay.observed.parts.last
                == FirstTokenParts(
                    chatterd: .zero, turn: .seconds(3), queue: .zero, retry: .seconds(2), upstream: .seconds(5)))
        #expect(relay.observed.parts.last?.total == .seconds(10))
    }

    @Test func waitForASlotIsAPartOfItsOwn() throws {
        let (relay, models) = TestRelay.withServers("a", slots: MemorySlots()) { $0.slots = 1 }
        relay.post("one", appID: "first")
        relay.post("two", appID: "second")
        #expect(relay.service.figures.replies == [.firstToken: 1, .queue: 1])
        relay.clock.advance(by: .seconds(4))
        try models[0].last.complete("1")
        relay.clock.settle()
        relay.clock.advance(by: .seconds(1))
        try models[0].last.send("2")
        let parts = try #require(relay.observed.parts.last)
        #expect(parts.queue == .seconds(4) && parts.upstream == .seconds(1) && parts.total == .seconds(5))
        #expect(relay.observed.words.contains("queued at a for 4.0 seconds"))
        #expect(relay.service.figures.replies == [.streaming: 1])
    }

    @Test func failureBeforeTheAnswerIsAFailover() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        relay.post("Hi")
        try models[0].last.fail(.unavailable)
        relay.clock.settle()
        try models[1].last.complete("Hello")
        relay.clock.settle()
        #expect(
            relay.observed.words == [
                "began prompt", "a upstream_unavailable", "a to b before upstream_unavailable", "answered", "b ok",
                "ended complete",
            ])
    }

    @Test func answerIsContinuedOrRestarted() throws {
        for (text, phase) in [(TestRelay.half, "continued"), ("Hel", "restarted")] {
            let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = .prefill }
            relay.post("Hi")
            try models[0].last.send(text)
            try models[0].last.fail(.incomplete)
            relay.clock.settle()
            #expect(relay.observed.words.last == "a to b \(phase) upstream_incomplete")
            #expect(relay.observed.words.filter { $0 == "answered" }.count == 1)
            #expect(try models[1].last.request.isRecovery)
        }
    }

    @Test func sameServerIsRetried() throws {
        let (relay, models) = TestRelay.withServers("a")
        relay.post("Hi")
        try models[0].last.fail(.busy)
        relay.clock.advance(by: .seconds(1))
        #expect(relay.observed.words.suffix(2) == ["a upstream_busy", "a to a retried upstream_busy"])
    }

    @Test func answerWithoutItsFormIsRepaired() throws {
        let (relay, models) = TestRelay.withServers("a")
        relay.post("Hi", format: #"{"type":"object"}"#)
        try models[0].last.complete("words")
        relay.clock.settle()
        #expect(relay.observed.words.suffix(2) == ["a ok", "a to a repaired answer_violates_format"])
        try models[0].last.complete("{}")
        relay.clock.settle()
        #expect(relay.observed.words.suffix(2) == ["a ok", "ended complete"])
    }

    @Test func stoppedRequestIsCancelled() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        post.reply?.cancel(RelayError(.cancelled, "The test stops it."))
        relay.clock.settle()
        #expect(relay.observed.words == ["began prompt", "answered", "test cancelled", "ended cancelled"])
    }

    @Test func handedOverReplyIsAdopted() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.post("one")
        relay.service.stopAccepting()
        relay.service.endReplies()
        relay.clock.settle()
        #expect(relay.observed.words == ["began prompt", "test cancelled", "left handed_over"])
        other.adopt()
        try other.complete("1")
        #expect(other.observed.words == ["began adopted", "answered", "test ok", "ended complete"])
    }

    @Test func replyOfAProcessThatCountsAsDeadIsFenced() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.startJournal()
        relay.post("Hi", onInterrupt: .regenerate)
        try relay.answer().send("one ")
        relay.database.dead = [1]
        other.adopt()
        try relay.answer().send("more ")
        relay.clock.advance(by: .milliseconds(250))
        #expect(relay.observed.words == ["began prompt", "answered", "test cancelled", "left fenced"])
        relay.clock.advance(by: .seconds(20))
    }

    @Test func figuresCountReadersTextAndPieces() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        _ = try relay.read(post)
        try relay.answer().send(run: ["one", " two", " three"])
        let figures = relay.service.figures
        #expect(figures.replies == [.streaming: 1] && figures.readers == 2)
        #expect(figures.unwritten == "one two three".utf8.count && figures.pieces == 3)
        try relay.answer().finish()
        relay.clock.settle()
        #expect(relay.service.figures.replies.isEmpty && relay.service.figures.unwritten == 0)
    }
}
