import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Replies whose model servers fail.
@Suite(.timeLimit(.minutes(30))) struct RescueTests {
    private let half = TestRelay.half

    @Test func anotherServerIsAskedBeforeAnyOutput() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.fail(.failed)
        relay.clock.settle()
        try models[1].last.complete("Hello")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Hello" && post.reader.resets == 0)
        #expect(models[0].generations.count == 1)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    @Test func loneServerIsRetriedAfterAPause() throws {
        let (relay, models) = TestRelay.withServers("a")
        let post = relay.post("Hi")
        for pause in [250, 500, 1000, 2000] {
            try models[0].last.fail(.failed)
            relay.clock.advance(by: .milliseconds(pause - 1))
            let asked = models[0].generations.count
            relay.clock.advance(by: .milliseconds(1))
            #expect(models[0].generations.count == asked + 1)
        }
        try models[0].last.fail(.failed)
        relay.clock.settle()
        #expect(post.code == .model(.failed) && post.isOver)
        #expect(models[0].generations.count == 5)
    }

    @Test func retryAfterOfAServerIsRespected() throws {
        let (relay, models) = TestRelay.withServers("a")
        relay.post("Hi")
        var error = ModelError(.busy, "busy")
        error.retryAfter = .seconds(7)
        try models[0].last.end(error)
        relay.clock.advance(by: .milliseconds(6_999))
        #expect(models[0].generations.count == 1)
        relay.clock.advance(by: .milliseconds(1))
        #expect(models[0].generations.count == 2)
    }

    @Test func tooLongRetryAfterEndsTheReply() throws {
        let (relay, models) = TestRelay.withServers("a")
        let post = relay.post("Hi")
        var error = ModelError(.busy, "busy")
        error.retryAfter = .seconds(21)
        try models[0].last.end(error)
        relay.clock.settle()
        #expect(post.code == .model(.busy))
    }

    @Test(arguments: [ModelError.Code.rejected, .contextTooLong, .answerTooLarge, .totalTimeout])
    func errorOfTheRequestCausesNoFailover(code: ModelError.Code) throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.fail(code)
        relay.clock.settle()
        #expect(post.code == .model(code) && models[1].generations.isEmpty)
    }

    @Test(arguments: [ModelError.Code.modelNotFound, .unauthorized, .unsupported, .firstByteTimeout])
    func nonRetryableErrorFailsOverWithoutRetry(code: ModelError.Code) throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.fail(code)
        relay.clock.settle()
        try models[1].last.fail(code)
        relay.clock.settle()
        #expect(post.code == .model(code) && post.isOver)
        #expect(models.map(\.generations.count) == [1, 1])
    }

    @Test func anotherServerContinuesTheText() throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        let second = try models[1].last
        #expect(String(decoding: second.request.beginning, as: UTF8.self) == half.dropLast())
        #expect(second.request.continuation == .prefill)
        second.complete(" the clocks were striking.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.resets == 0)
        #expect(post.reader.text == half + "the clocks were striking.")
        let provenance = try #require(relay.database.provenances.values.first)
        #expect(provenance.parts.map(\.upstream) == ["a", "b"])
        #expect(provenance.parts.map(\.text) == [0..<half.utf8.count, half.utf8.count..<(half.utf8.count + 25)])
    }

    @Test func serverThatRepeatsTheTextIsCancelled() throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        for piece in ["It was a ", "bright cold ", "day in April"] { try models[1].last.send(piece) }
        relay.clock.settle()
        #expect(models[1].generations.first?.isCancelled == true)
        #expect(post.reader.text == half)
        relay.clock.advance(by: .seconds(1))
        // The first server remains, and can continue.
        try models[0].last.complete("the clocks were striking.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.resets == 0)
        #expect(post.reader.text == half + "the clocks were striking.")
    }

    @Test func replyRestartsWhenAllServersRepeatTheText() throws {
        let (relay, models) = TestRelay.withServers("a") { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.advance(by: .seconds(1))
        try models[0].last.send(half)
        relay.clock.advance(by: .seconds(1))
        #expect(try models[0].last.request.beginning.isEmpty)
        try models[0].last.complete(half + "the end.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.resets == 1 && post.reader.text == half + "the end.")
    }

    @Test func replyRestartsWhenNoServerCanContinue() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.silenceTimeout)
        relay.clock.settle()
        // The old text is valid until the new answer has text.
        #expect(post.reader.text == half && post.reader.resets == 0)
        try models[1].last.send("A bright ")
        relay.clock.settle()
        #expect(post.reader.text == "A bright " && post.reader.resets == 1)
        try models[1].last.complete("day.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "A bright day.")
        #expect(post.reader.positions.last?.attempt == 2)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: A bright day. [complete]"])
        let provenance = try #require(relay.database.provenances.values.first)
        #expect(provenance.parts.map(\.upstream) == ["b"])
    }

    @Test func answerOfASingleLineReplacesABrokenOne() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.complete("Whole.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Whole." && post.reader.resets == 1)
    }

    @Test func replyThatCannotBeContinuedKeepsItsText() throws {
        let (relay, models) = TestRelay.withServers("a", "b", rescues: 1)
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.fail(.busy)
        relay.clock.settle()
        // The reader gets the reason why the text ends.
        #expect(post.code == .model(.incomplete) && post.reader.text == half && post.reader.resets == 0)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: \(half) [failed]"])
    }

    @Test func thoughtsAloneAreNotContinued() throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.sendLine(
            #"{"model":"m","created_at":"x","message":{"role":"assistant","content":"","thinking":"Let me see what there is to say."},"done":false}"#
        )
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        #expect(try models[1].last.request.beginning.isEmpty)
        try models[1].last.complete("Yes.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Yes." && post.reader.resets == 1)
    }

    @Test func stopBetweenTwoRequestsIsHandled() throws {
        let (relay, models) = TestRelay.withServers("a")
        let post = relay.post("Hi")
        try models[0].last.fail(.failed)
        relay.clock.settle()
        let stopped = relay.stop(post)
        relay.clock.advance(by: .milliseconds(20))
        #expect(stopped.record?.state == .cancelled)
        relay.clock.advance(by: .seconds(60))
        #expect(models[0].generations.count == 1 && post.isOver)
    }

    @Test func stopWhileTheTextIsReadIsHandled() throws {
        // Another process has the slot.
        let cluster = SlotCluster()
        cluster.process.request("other")
        let (relay, models) = TestRelay.withServers("a", "u", slots: cluster.slots) {
            $0.continuation = .prefill
            $0.slots = $0.name == "u" ? 1 : nil
        }
        relay.startJournal()
        let post = relay.post("Hi")
        // So much text that its beginning is only in the store.
        try models[0].last.send(half + String(repeating: "x", count: 300_000))
        relay.clock.advance(by: .seconds(1))
        relay.store.faults[.read] = [.hang]
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        #expect(relay.store.count(.read) == 1)
        let stopped = relay.stop(post)
        relay.store.release(.read)
        relay.clock.advance(by: .seconds(1))
        #expect(post.isOver && stopped.record?.state == .cancelled && models[1].generations.isEmpty)
    }

    @Test func serverWithASmallerContextIsSkipped() throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.contextLength = $0.name == "b" ? 16 : nil }
        let post = relay.post(String(repeating: "word ", count: 100))
        try models[0].last.fail(.failed)
        relay.clock.advance(by: .seconds(1))
        #expect(models[1].generations.isEmpty && models[0].generations.count == 2)
        try models[0].last.complete("Hello")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Hello")
    }

    @Test func smallerContextOfAnotherServerIsNotTheReportedFailure() throws {
        let (relay, models) = TestRelay.withServers("a", "b", rescues: 1)
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.fail(.contextTooLong)
        relay.clock.settle()
        try models[1].last.fail(.contextTooLong)
        relay.clock.settle()
        try models[1].last.fail(.contextTooLong)
        relay.clock.settle()
        #expect(post.code == .model(.incomplete) && post.reader.text == half)
    }

    @Test func stopDuringTheWaitForARestartIsHandled() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        relay.store.faults[.restart] = Array(repeating: .unavailable, count: 1_000)
        try models[1].last.send("Another ")
        relay.clock.advance(by: .seconds(1))
        let stopped = relay.stop(post)
        relay.clock.advance(by: .milliseconds(20))
        #expect(post.isOver && stopped.record?.state == .cancelled && post.reader.resets == 0)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: \(half) [cancelled]"])
    }

    @Test func replyDoesNotRestartWhileTheStoreIsUnavailable() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        relay.store.faults[.restart] = Array(repeating: .unavailable, count: 1_000)
        try models[1].last.send("Another ")
        relay.clock.advance(by: .seconds(15))
        #expect(post.code == .model(.incomplete) && post.reader.text == half)
        #expect(try models[1].last.isCancelled)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: \(half) [failed]"])
    }

    @Test func oldTextIsNotJournalledWhileTheReplyRestarts() throws {
        let (relay, models, post) = try relayWithUnconfirmedRestart(failures: 2)
        relay.clock.advance(by: .seconds(5))
        try models[1].last.complete("one.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Another one." && post.reader.resets == 1)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Another one. [complete]"])
    }

    /// A reply whose restart is committed without a confirmation, and whose store stays unavailable for some more calls.
    private func relayWithUnconfirmedRestart(
        failures: Int = 1_000
    ) throws -> (relay: TestRelay, models: [ScriptedModel], post: SentPrompt) {
        let (relay, models) = TestRelay.withServers("a", "b")
        relay.startJournal()
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        relay.store.faults[.restart] = [.lost] + Array(repeating: .unavailable, count: failures)
        try models[1].last.send("Another ")
        return (relay, models, post)
    }

    @Test func replyThatFailsAfterAnUnconfirmedRestartIsClosedWithItsOwnEnd() throws {
        let (relay, _, post) = try relayWithUnconfirmedRestart()
        relay.clock.advance(by: .seconds(12))
        #expect(!post.isOver)
        relay.store.faults[.restart] = []
        relay.clock.advance(by: .seconds(3))
        #expect(post.code == .model(.incomplete) && post.isOver)
        #expect(post.reader.text.isEmpty && post.reader.resets == 1)
        #expect(relay.database.transcript() == ["user: Hi", "assistant:  [failed]"])
    }

    @Test func replyAdoptedAfterAnUnconfirmedRestartIsHandedOver() throws {
        let (relay, _, post) = try relayWithUnconfirmedRestart()
        let otherProcess = relay.otherProcess()
        relay.clock.advance(by: .seconds(5))
        relay.database.dead = [1]
        otherProcess.post("two")
        relay.store.faults[.restart] = []
        relay.clock.advance(by: .seconds(10))
        #expect(post.ending == "interrupted interrupted" && relay.board.count == 0)
    }

    @Test func textOnItsWayToTheJournalArrivesBeforeTheRestart() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        relay.startJournal()
        relay.store.faults[.journal] = [.hang]
        let post = relay.post("Hi")
        try models[0].last.send(half)
        relay.clock.advance(by: .milliseconds(250))
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.send("Another ")
        relay.clock.settle()
        #expect(relay.store.count(.journal) == 1 && relay.store.count(.restart) == 0)
        relay.store.release(.journal)
        relay.clock.settle()
        try models[1].last.complete("one.")
        relay.clock.settle()
        #expect(relay.store.count(.restart) == 1)
        #expect(post.isComplete && post.reader.text == "Another one." && post.reader.resets == 1)
    }

    @Test func oldAttemptIsNotJournalledDuringTheRestart() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        relay.startJournal()
        relay.store.faults[.restart] = [.hang]
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.send("Another ")
        relay.clock.settle()
        #expect(relay.store.count(.restart) == 1)
        relay.clock.advance(by: .seconds(1))
        #expect(relay.store.journalSizes.allSatisfy { $0 == 0 })
        relay.store.release(.restart)
        relay.clock.settle()
        try models[1].last.complete("one.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Another one.")
    }

    @Test func readerOnAnotherShardGetsTheResetToo() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        let post = relay.post("Hi")
        try models[0].last.send(half)
        let otherShard = relay.otherShard()
        let other = try otherShard.read(post)
        relay.clock.settle()
        #expect(other.text == half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.complete("Whole.")
        relay.clock.settle()
        #expect(other.isDone && other.text == "Whole." && other.resets == 1)
        #expect(otherShard.model.generations.isEmpty)
    }

    @Test func repeatedlyFailingServerIsAskedLast() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        for round in 0..<3 {
            relay.post("Hi", appID: "app\(round)")
            try models[0].last.fail(.failed)
            relay.clock.settle()
            try models[1].last.complete("Hello")
            relay.clock.settle()
        }
        relay.post("Hi", appID: "after")
        #expect(models.map(\.generations.count) == [3, 4])
        relay.clock.advance(by: .seconds(5))
        relay.post("Hi", appID: "later")
        // One reply tries it, and no other one meanwhile.
        relay.post("Hi", appID: "beside")
        #expect(models.map(\.generations.count) == [4, 5])
        try models[0].last.complete("Hello")
        relay.clock.settle()
        relay.post("Hi", appID: "again")
        #expect(models.map(\.generations.count) == [5, 5])
    }

    @Test func serverWithAVeryLongRetryAfterIsTriedEarlier() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        relay.post("Hi")
        var error = ModelError(.busy, "busy")
        error.retryAfter = .seconds(86_400)
        try models[0].last.end(error)
        relay.clock.settle()
        try models[1].last.complete("Hello")
        relay.clock.advance(by: .seconds(599))
        relay.post("Hi", appID: "soon")
        #expect(models.map(\.generations.count) == [1, 2])
        relay.clock.advance(by: .seconds(1))
        relay.post("Hi", appID: "later")
        #expect(models.map(\.generations.count) == [2, 2])
    }

    @Test func promptWithoutAnyModelServerIsRefused() {
        let relay = TestRelay()
        relay.service.upstreams.update([])
        let post = relay.post("Hi")
        #expect(post.refusal?.code == .model(.modelNotFound) && post.id == nil)
    }
}
