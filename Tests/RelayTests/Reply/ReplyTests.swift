import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct ReplyTests {
    @Test func replySendsAndStoresEveryLine() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        let answer = try relay.answer()
        #expect(answer.prompts == ["user: Hi"])
        answer.send("Hel")
        answer.send("lo")
        #expect(post.reader.lines.count == 2)
        answer.finish()
        relay.clock.settle()
        #expect(post.isComplete && post.isOver)
        #expect(post.reader.positions.last?.isEnd == true)
        #expect(post.reader.text == "Hello")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
        #expect(relay.board.count == 0)
    }

    @Test func nextTurnGetsTheEarlierTurns() throws {
        let relay = TestRelay()
        relay.post("one", "two")
        try relay.complete("first")
        relay.post("three")
        #expect(try relay.answer().prompts == ["user: one", "user: two", "assistant: first", "user: three"])
    }

    @Test func failedAnswerIsMarkedAndReplayed() throws {
        let relay = TestRelay()
        let post = relay.post("one")
        try relay.answer().send("par")
        try relay.answer().fail(.incomplete)
        relay.clock.settle()
        #expect(post.code == .model(.incomplete) && post.isOver)
        #expect(relay.database.transcript() == ["user: one", "assistant: par [failed]"])
        relay.post("two")
        #expect(try relay.answer().prompts == ["user: one", "assistant: par", "user: two"])
    }

    @Test func lastLineWaitsForTheStore() throws {
        let relay = TestRelay()
        relay.store.faults[.closeTurn] = [.hang]
        let post = relay.post("Hi")
        try relay.complete("Hello")
        #expect(post.reader.lines.count == 1)
        #expect(post.reader.ends.isEmpty)
        #expect(!post.reader.isDone)
        relay.store.release(.closeTurn)
        relay.clock.settle()
        #expect(post.isComplete)
    }

    @Test func contentThinkingAndToolCallsOfAllLinesAreStored() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        let answer = try relay.answer()
        let opening = #"{"model":"m","created_at":"c","message":{"role":"assistant","content":"#
        answer.sendLine(opening + #""a","thinking":"t1 "},"done":false}"#)
        answer.sendLine(opening + #""","tool_calls":[{"n":1},{"n":2}]},"done":false}"#)
        answer.sendLine(opening + #""b","thinking":"t2","tool_calls":[{"n":3}]},"done":true}"#)
        answer.end(nil)
        relay.clock.settle()
        #expect(post.isComplete)
        let row = try #require(relay.database.rows().last)
        #expect(row.message.content == "ab")
        #expect(row.message.extras == #""tool_calls":[{"n":1},{"n":2},{"n":3}]"#)
        #expect(row.thinking == "t1 t2")
    }

    @Test func answerWithoutItsLastLineFails() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        try relay.answer().send("Hello")
        try relay.answer().end(nil)
        relay.clock.settle()
        #expect(post.code == .internal)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [failed]"])
    }

    @Test func tooLongConversationIsNotSent() throws {
        let relay = TestRelay()
        relay.store.historyLimit = 100
        let post = relay.post(String(repeating: "x", count: 200))
        #expect(post.code == .historyTooLarge)
        #expect(relay.model.generations.isEmpty)
        #expect(relay.database.rows().last?.state == .failed)
    }

    @Test func slowReaderPausesTheModel() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        let answer = try relay.answer()
        post.reader.isFull = true
        answer.send("a")
        #expect(answer.isPaused)
        post.subscription?.listenerIsReady()
        #expect(!answer.isPaused)
        answer.send("b")
        #expect(answer.isPaused)
        // The paused reply has no reader that could resume it.
        post.subscription?.cancel()
        #expect(!answer.isPaused)
    }

    @Test func endedReplyIsReleased() throws {
        let relay = TestRelay()
        let first = relay.post("one")
        let second = relay.post("two")
        weak let (one, two) = (first.reply, second.reply)
        #expect(one != nil && two != nil)
        try relay.complete("1")
        try relay.complete("2")
        relay.model.forget()
        #expect(first.isOver && second.isOver)
        #expect(one == nil && two == nil)
    }

    @Test(arguments: 0..<30)
    func storedTextIsTheTextThatWasRead(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let text = random.text(upTo: 400, withNUL: true)
        let relay = TestRelay()
        let post = relay.post("Hi")
        let answer = try relay.answer()
        var pieces: [String] = []
        var piece = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            piece.append(scalar)
            if Int.random(in: 0..<8, using: &random) == 0 {
                pieces.append(String(piece))
                piece = String.UnicodeScalarView()
            }
        }
        for piece in pieces + [String(piece)] {
            answer.send(piece)
        }
        answer.finish()
        relay.clock.settle()
        #expect(post.isComplete)
        let stored = try #require(relay.database.rows().last?.message.content)
        #expect(Array(stored.utf8) == Array(post.reader.text.utf8))
        let expected = text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }
        #expect(Array(stored.unicodeScalars) == expected)
    }
}
