import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Replies whose model servers stall, restart, cannot continue or refuse the request.
@Suite(.timeLimit(.minutes(30))) struct RecoveryTests {
    private func error(
        _ code: ModelError.Code, _ hint: ModelError.Hint? = nil, _ words: String = "the model failed"
    ) -> ModelError {
        var error = ModelError(code, words, detail: words)
        error.hint = hint
        return error
    }

    private func health(_ relay: TestRelay) -> [UpstreamHealth.State] {
        relay.service.upstreams.upstreams.map { $0.health.state(at: relay.clock.now) }
    }

    private let half = TestRelay.half
    private let down = ModelError.Hint.restart(wasRead: false)

    // MARK: - Stalls

    @Test func stalledServerIsAskedAfterOneThatStartsAgain() throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = $0.name == "a" ? .prefill : .none }
        let post = relay.post("Hi")
        #expect(try models[0].last.request.isRecovery == false)
        try models[0].last.send(half)
        try models[0].last.fail(.silenceTimeout)
        relay.clock.settle()
        #expect(models.map(\.generations.count) == [1, 1])
        // The reader waits, so the server must begin soon.
        #expect(try models[1].last.request.isRecovery)
        try models[1].last.complete("Whole.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Whole." && post.reader.resets == 1)
    }

    @Test func readerLearnsWhyTheTextBrokeOff() throws {
        let (relay, models) = TestRelay.withServers("a", rescues: 1) { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.end(error(.silenceTimeout, nil, "It fell silent."))
        relay.clock.advance(by: .seconds(1))
        #expect(try models[0].last.request.isRecovery)
        try models[0].last.end(error(.firstByteTimeout, nil, "It did not begin."))
        relay.clock.settle()
        #expect(post.code == .model(.silenceTimeout) && post.reader.text == half)
        let cause = try #require(post.reader.ends.first ?? nil)
        #expect(cause.message == "It fell silent.")
        #expect(cause.detail.contains("1 more") && cause.detail.contains("It did not begin."))
    }

    @Test func readerLearnsWhyTheContinuedTextBrokeOff() throws {
        let (relay, models) = TestRelay.withServers("a", "b", rescues: 1)
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.silenceTimeout)
        relay.clock.settle()
        try models[1].last.send("Another ")
        relay.clock.settle()
        try models[1].last.fail(.incomplete)
        relay.clock.settle()
        #expect(post.code == .model(.incomplete) && post.reader.text == "Another ")
    }

    // MARK: - Servers that cannot continue

    @Test(arguments: [[], [" "], ["\n", "  "], ["It was"]])
    func serverThatDoesNotContinueHasNotCompletedTheAnswer(pieces: [String]) throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = $0.name == "b" ? .prefill : .none }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        #expect(try !models[1].last.request.beginning.isEmpty)
        for piece in pieces { try models[1].last.send(piece) }
        try models[1].last.finish()
        relay.clock.settle()
        #expect(!post.isComplete && post.reader.text == half && post.reader.resets == 0)
        // The server is asked at once for the whole answer: it has not failed.
        #expect(try models[1].last.request.beginning.isEmpty && health(relay)[1] == .unknown)
        try models[1].last.complete("Whole.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Whole." && post.reader.resets == 1)
    }

    @Test func incompleteAnswerThatNoServerContinuesFails() throws {
        let (relay, models) = TestRelay.withServers("a", rescues: 1) { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.advance(by: .seconds(1))
        try models[0].last.finish()
        relay.clock.advance(by: .seconds(1))
        try models[0].last.fail(.failed)
        relay.clock.settle()
        #expect(post.code == .model(.incomplete) && post.reader.text == half)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: \(half) [failed]"])
    }

    @Test func toolCallAfterTheTextIsItsContinuation() throws {
        let (relay, models) = TestRelay.withServers("a", "b") { $0.continuation = .prefill }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        relay.clock.settle()
        try models[1].last.sendLine(
            #"{"model":"m","created_at":"x","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}"#
        )
        try models[1].last.finish()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == half && post.reader.resets == 0)
    }

    // MARK: - Bad requests

    @Test func complaintOfTwoServersIsTheFaultOfTheRequest() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        for round in 0..<4 {
            let post = relay.post("Hi", appID: "app\(round)")
            for model in models {
                try model.last.end(error(.failed, .request("500 odd picture"), "odd picture"))
                relay.clock.settle()
            }
            #expect(post.code == .model(.rejected))
            #expect(models.map(\.generations.count) == [round + 1, round + 1])
        }
        #expect(health(relay) == [.unknown, .unknown])
    }

    @Test func complaintThatAnotherServerContradictsCountsAgainstTheServer() throws {
        let (relay, models) = TestRelay.withServers("a", "b")
        for round in 0..<3 {
            relay.post("Hi", appID: "app\(round)")
            try models[0].last.end(error(.failed, .request("500 odd picture")))
            relay.clock.settle()
            try models[1].last.complete("Hello")
            relay.clock.settle()
        }
        #expect(health(relay) == [.coolingDown, .healthy])
    }

    @Test func longConversationWithAnEmptyAnswerIsSentWithLess() throws {
        let (relay, models) = TestRelay.withServers("a")
        let long = String(repeating: "word ", count: 300)
        for _ in 0..<3 {
            relay.post(long)
            try models[0].last.complete(long)
            relay.clock.settle()
        }
        for round in 0..<3 {
            let post = relay.post("And \(round)?")
            let whole = try models[0].last.prompts.count
            if round < 2 {
                try models[0].last.end(error(.incomplete, .context))
                relay.clock.settle()
                #expect(try models[0].last.prompts.count < whole)
                // The request is shortened only once.
                let asked = models[0].generations.count
                try models[0].last.complete("Yes.")
                relay.clock.settle()
                #expect(post.isComplete && models[0].generations.count == asked)
            } else {
                // The context of the model is known by now.
                #expect(whole < 11)
                try models[0].last.complete("Yes.")
                relay.clock.settle()
                #expect(post.isComplete)
            }
        }
    }

    // MARK: - Restarts

    @Test func replyWaitsForALoneUnreachableServer() throws {
        let (relay, models) = TestRelay.withServers("a", failovers: 0, rescues: 0, restartWait: .seconds(30))
        let post = relay.post("Hi")
        for _ in 0..<8 {
            try models[0].last.end(error(.unavailable, down))
            relay.clock.advance(by: .seconds(4))
        }
        #expect(models[0].generations.count == 9 && !post.isOver)
        try models[0].last.complete("Hello")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Hello" && health(relay) == [.healthy])
    }

    @Test func waitForAServerIsLimited() throws {
        let (relay, models) = TestRelay.withServers("a", restartWait: .seconds(30))
        let post = relay.post("Hi")
        for _ in 0..<20 where !post.isOver {
            try models[0].last.end(error(.unavailable, down))
            relay.clock.advance(by: .seconds(4))
        }
        #expect(post.code == .model(.unavailable) && models[0].generations.count < 20)
    }

    @Test func serverThatRestartsInTheMiddleContinues() throws {
        let (relay, models) = TestRelay.withServers("a", rescues: 1, restartWait: .seconds(30)) {
            $0.continuation = .prefill
        }
        let post = relay.post("Hi")
        try models[0].last.send(half)
        try models[0].last.fail(.incomplete)
        for _ in 0..<4 {
            relay.clock.advance(by: .seconds(4))
            try models[0].last.end(error(.unavailable, down))
        }
        relay.clock.advance(by: .seconds(4))
        try models[0].last.complete("the end.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == half + "the end." && post.reader.resets == 0)
    }

    @Test func stopEndsTheWaitForAServerAtOnce() throws {
        let (relay, models) = TestRelay.withServers("a", restartWait: .seconds(30))
        let post = relay.post("Hi")
        try models[0].last.end(error(.unavailable, down))
        relay.clock.settle()
        let stopped = relay.stop(post)
        relay.clock.advance(by: .milliseconds(20))
        #expect(stopped.record?.state == .cancelled && post.isOver)
    }

    @Test(arguments: [true, false]) func stoppedProcessDoesNotWaitForAServer(isWaiting: Bool) throws {
        let (relay, models) = TestRelay.withServers("a", restartWait: .seconds(30))
        let post = relay.post("Hi")
        let answer = try models[0].last
        if isWaiting { answer.end(error(.unavailable, down)) }
        relay.clock.settle()
        relay.service.stopAccepting()
        if !isWaiting { answer.end(error(.unavailable, down)) }
        relay.clock.settle()
        #expect(post.isOver && post.code == .shuttingDown && models[0].generations.count == 1)
    }
}
