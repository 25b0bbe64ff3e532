import ChatterdChat
import ChatterdRelay
import Testing

@Suite(.timeLimit(.minutes(30))) struct JournalTests {
    /// More than a tick.
    private static let round = Duration.milliseconds(250)

    @Test func textOfARunningReplyIsJournalledOncePerTick() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        let answer = try relay.answer()
        answer.send("one ")
        answer.send("two ")
        relay.clock.settle()
        #expect(relay.store.count(.journal) == 0)
        relay.clock.advance(by: Self.round)
        #expect(relay.store.count(.journal) == 1)
        #expect(relay.journalled(post) == "one two ")
        answer.send("three")
        relay.clock.advance(by: Self.round)
        #expect(relay.journalled(post) == "one two three")
        answer.finish()
        relay.clock.settle()
        #expect(post.isComplete)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: one two three [complete]"])
    }

    @Test func oneStatementJournalsAllRepliesOfAllShards() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        relay.startJournal(other)
        let posts =
            (0..<20).map { relay.post("Hi", appID: "a\($0)") } + (0..<20).map { other.post("Hi", appID: "b\($0)") }
        for (index, answer) in (relay.model.generations + other.model.generations).enumerated() {
            answer.send("text \(index)")
        }
        relay.clock.advance(by: Self.round)
        #expect(relay.store.count(.journal) == 1)
        #expect(other.store.count(.journal) == 0)
        for (index, post) in posts.enumerated() {
            #expect(relay.journalled(post) == "text \(index)")
        }
    }

    @Test func onlyNewTextOfRunningRepliesIsJournalled() throws {
        let relay = TestRelay()
        relay.startJournal()
        let posts = (0..<5).map { relay.post("Hi", appID: "a\($0)") }
        let answers = relay.model.generations
        for answer in answers.dropLast() {
            answer.send("text")
        }
        for index in [0, 3] {
            answers[index].finish()
        }
        relay.clock.advance(by: Self.round)
        #expect(relay.store.journalSizes == [8])
        #expect(relay.journalled(posts[1]) == "text" && relay.journalled(posts[2]) == "text")
        answers[2].send("s")
        relay.clock.advance(by: Self.round)
        #expect(relay.store.journalSizes == [8, 1])
        #expect(relay.journalled(posts[2]) == "texts")
    }

    @Test func journalIsIdleWithoutReplies() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.post("Hi")
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(5))
        #expect(relay.store.count(.journal) == 0)
        relay.post("again")
        relay.clock.advance(by: Self.round)
        #expect(relay.store.count(.journal) == 1)
    }

    @Test func failedFlushIsJournalledLater() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.store.faults[.journal] = [.unavailable, .lost, .unavailable]
        let post = relay.post("Hi")
        for piece in ["a", "b", "c", "d", "e"] {
            try relay.answer().send(piece)
            relay.clock.advance(by: Self.round)
        }
        relay.clock.advance(by: .seconds(2))
        #expect(relay.journalled(post) == "abcde")
        try relay.answer().finish()
        relay.clock.settle()
        #expect(relay.database.transcript() == ["user: Hi", "assistant: abcde [complete]"])
    }

    @Test func unconfirmedBatchIsRepeatedUnchanged() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.store.faults[.journal] = [.lost]
        let post = relay.post("Hi")
        // So much that the reply has rows of its own in the journal.
        let text = String(repeating: "a", count: 100_000)
        try relay.answer().send(text)
        relay.clock.advance(by: Self.round)
        try relay.answer().send("de")
        relay.clock.advance(by: .seconds(1))
        // Later text is not mixed with the batch, and does not wait for another token.
        #expect(relay.store.journalSizes.filter { $0 > 0 } == [100_000, 100_000, 2])
        #expect(relay.journalled(post) == text + "de")
    }

    @Test func textOfTheLastLineIsNotJournalled() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        try relay.answer().send("one ")
        try relay.answer().sendLine(
            #"{"model":"m","message":{"role":"assistant","content":"two"},"done":true,"done_reason":"stop"}"#)
        relay.clock.advance(by: Self.round)
        #expect(relay.store.journalSizes.allSatisfy { $0 == 0 } && !post.isOver)
        try relay.answer().end(nil)
        relay.clock.settle()
        #expect(post.isComplete)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: one two [complete]"])
    }

    @Test func endOfAReplyWaitsForItsRowsOnTheWay() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.store.faults[.journal] = [.hang]
        let post = relay.post("Hi")
        // So much that the reply has rows of its own in the journal.
        let text = String(repeating: "one ", count: 30_000)
        try relay.answer().send(text)
        relay.clock.advance(by: Self.round)
        try relay.complete("two")
        #expect(relay.store.count(.closeTurn) == 0)
        relay.store.release(.journal)
        relay.clock.settle()
        #expect(post.isComplete)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: \(text)two [complete]"])
    }

    @Test func endOfAReplyDoesNotWaitForASheet() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.store.faults[.journal] = [.hang]
        let post = relay.post("Hi")
        try relay.answer().send("one ")
        relay.clock.advance(by: Self.round)
        try relay.complete("two")
        #expect(post.isComplete)
        relay.store.release(.journal)
        relay.clock.settle()
        #expect(relay.database.transcript() == ["user: Hi", "assistant: one two [complete]"])
    }

    @Test func textIsRepeatedInTheSheetsOfTheNextGeneration() throws {
        let relay = TestRelay()
        relay.startJournal()
        let posts = (0..<2).map { relay.post("Hi", appID: "a\($0)") }
        let (quiet, busy) = (relay.model.generations[0], relay.model.generations[1])
        quiet.send("quiet")
        busy.send("busy")
        relay.clock.advance(by: Self.round)
        #expect(relay.store.journalSizes == [9])
        busy.send("er")
        relay.clock.advance(by: Self.round)
        relay.database.sheetGeneration = 2
        busy.send("!")
        relay.clock.advance(by: Self.round)
        // The process has learned of the generation. A sheet of the next flush repeats both texts; the one after says so.
        #expect(relay.store.journalSizes == [9, 2, 1] && relay.store.releasedSheets == 1)
        relay.clock.advance(by: .milliseconds(200))
        #expect(relay.store.journalSizes == [9, 2, 1, 12] && relay.store.releasedSheets == 1)
        relay.clock.advance(by: .milliseconds(200))
        #expect(relay.store.releasedSheets == 2)
        #expect(posts.allSatisfy { $0.id.flatMap { relay.database.replies[$0]?.oldestSheet } == 2 })
        #expect(relay.store.sheetSlots.last { !$0.isEmpty }?.allSatisfy { $0.generation == 2 } == true)
        #expect(posts.map { relay.journalled($0) } == ["quiet", "busyer!"])
    }

    @Test func lostSheetIsWrittenAgainWithAnotherSlot() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.store.faults[.journal] = [.lost]
        let post = relay.post("Hi")
        try relay.answer().send("abc")
        relay.clock.advance(by: Self.round)
        try relay.answer().send("de")
        relay.clock.advance(by: .seconds(1))
        #expect(relay.store.journalSizes.filter { $0 > 0 } == [3, 5])
        #expect(Set(relay.store.sheetSlots.flatMap { $0.map(\.number) }).count == 2)
        #expect(relay.journalled(post) == "abcde")
    }

    @Test func longReplyMovesToRowsOfItsOwn() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        let id = try #require(post.id)
        try relay.answer().send(String(repeating: "x", count: 60_000))
        relay.clock.advance(by: Self.round)
        #expect(relay.database.replies[id]?.page.text.isEmpty == true)
        try relay.answer().send(String(repeating: "y", count: 10_000))
        relay.clock.advance(by: Self.round)
        #expect(relay.database.replies[id]?.page.text.count == 70_000)
        try relay.answer().send("z")
        relay.clock.advance(by: Self.round)
        #expect(relay.database.replies[id]?.page.text.count == 70_000 && relay.journalled(post)?.count == 70_001)
    }

    @Test func replyThatIsReadElsewhereHasRowsOfItsOwn() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi")
        let id = try #require(post.id)
        try relay.answer().send("one ")
        relay.clock.advance(by: Self.round)
        #expect(relay.database.replies[id]?.page.text.isEmpty == true)
        let reader = try otherProcess.read(post)
        relay.clock.advance(by: .seconds(1))
        #expect(relay.database.replies[id]?.page.text.isEmpty == false && reader.text == "one ")
        try relay.answer().send("two ")
        relay.clock.advance(by: .seconds(1))
        #expect(reader.text == "one two ")
        relay.store.faults = [:]
        try relay.complete("three")
        relay.clock.advance(by: .seconds(1))
        #expect(reader.isDone && reader.text == "one two three")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: one two three [complete]"])
        relay.clock.advance(by: .seconds(20))
    }

    /// Also while its model is silent.
    @Test(arguments: [0, 1, 2])
    func ownerOfARunningReplyIsLookedUpEveryTwoSeconds(pieces: Int) throws {
        let relay = TestRelay(ownerCheckInterval: .seconds(2))
        relay.startJournal()
        let post = relay.post("Hi")
        relay.clock.advance(by: Self.round)
        relay.database.replies = [:]
        if pieces > 0 { try relay.answer().send("one ") }
        relay.clock.advance(by: Self.round)
        #expect(post.interimError == nil)
        if pieces > 1 { try relay.answer().send("two ") }
        relay.clock.advance(by: .seconds(2))
        relay.clock.advance(by: Self.round)
        #expect(post.interimError == .conversationReplaced)
        #expect(try relay.answer().isCancelled)
    }

    /// Of a process that was frozen, gave its reply up and has adopted it again.
    @Test func lossOfAnEarlierAttemptDoesNotEndAReply() throws {
        let relay = TestRelay(ownerCheckInterval: .seconds(2))
        relay.startJournal()
        let post = relay.post("Hi")
        let id = try #require(post.id)
        relay.database.signals[relay.store.process] = [ReplySignal(id: id, kind: .gone)]
        relay.clock.advance(by: Self.round)
        relay.database.signals = [:]
        #expect(!relay.store.ownerChecks.isEmpty && post.interimError == nil)
        try relay.complete("Hello")
        relay.clock.advance(by: .seconds(2))
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    /// Also if they began at one time.
    @Test func ownersOfManyRepliesAreLookedUpInParts() throws {
        var limits = RelayLimits()
        limits.maximumReplies = 1_000
        limits.ownerCheckInterval = .seconds(2)
        let relay = TestRelay(limits)
        relay.startJournal()
        let posts = (0..<600).map { relay.post("Hi", appID: "a\($0)") }
        relay.clock.advance(by: .seconds(5))
        let sizes = relay.store.ownerChecks.filter { $0 > 0 }
        #expect(sizes.reduce(0, +) >= 600 && (sizes.max() ?? 0) <= 150)
        relay.database.replies = [:]
        relay.clock.advance(by: .seconds(3))
        #expect(posts.allSatisfy { $0.interimError == .conversationReplaced })
    }

    @Test func flushesOfManyRepliesAreSpreadOverATick() throws {
        var limits = RelayLimits()
        limits.maximumReplies = 1_000
        let relay = TestRelay(limits)
        relay.startJournal()
        let posts = (0..<600).map { relay.post("Hi", appID: "a\($0)") }
        for answer in relay.model.generations {
            answer.send("x")
        }
        relay.clock.advance(by: .milliseconds(400))
        #expect(relay.store.journalSizes.filter { $0 > 0 } == [150, 150, 150, 150])
        #expect(posts.allSatisfy { relay.journalled($0) == "x" })
    }

    @Test func longTextDoesNotWaitForTheTick() throws {
        let relay = TestRelay()
        relay.startJournal()
        relay.post("Hi")
        relay.clock.advance(by: .milliseconds(60))
        try relay.answer().send(String(repeating: "x", count: 2 << 20))
        relay.clock.settle()
        #expect(relay.store.count(.journal) == 1)
    }

    @Test func longTextOfAYoungReplyIsJournalledOnce() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        for _ in 0..<20 {
            try relay.answer().send(String(repeating: "x", count: 100 << 10))
            relay.clock.settle()
        }
        #expect(relay.store.count(.journal) == 1)
        #expect(relay.journalled(post)?.utf8.count ?? 0 > 1 << 20)
    }

    @Test func unavailableStoreIsNotAskedAtEachTick() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        relay.clock.advance(by: Self.round)
        relay.store.isUnavailable = true
        let before = relay.store.count(.journal)
        for _ in 0..<100 {
            try relay.answer().send(String(repeating: "x", count: 100_000))
            relay.clock.advance(by: .milliseconds(100))
        }
        // After 0.2, 0.6, 1.4, 3, 5, 7, 9 seconds.
        #expect(relay.store.count(.journal) - before <= 8)
        relay.store.isUnavailable = false
        relay.clock.advance(by: .seconds(2))
        #expect(relay.journalled(post)?.count == 10_000_000)
        try relay.answer().send("y")
        relay.clock.advance(by: Self.round)
        #expect(relay.journalled(post)?.count == 10_000_001)
    }

    @Test func oneFlushOfTheJournalIsNotTooLarge() throws {
        let relay = TestRelay()
        relay.startJournal()
        let posts = (0..<20).map { relay.post("Hi", appID: "a\($0)") }
        for answer in relay.model.generations {
            answer.send(String(repeating: "x", count: 1 << 20))
        }
        relay.clock.advance(by: .seconds(1))
        #expect(relay.store.journalSizes.allSatisfy { $0 <= 16 << 20 })
        #expect(posts.allSatisfy { relay.journalled($0)?.count == 1 << 20 })
    }

    @Test func lateReaderGetsTextThatMemoryHasDiscarded() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        for _ in 0..<40 {
            try relay.answer().send(String(repeating: "lorem ipsum ", count: 1000))
            relay.clock.advance(by: Self.round)
        }
        let late = try relay.read(post)
        relay.clock.settle()
        #expect(relay.store.count(.read) > 0)
        try relay.complete("end")
        #expect(late.isDone)
        #expect(late.text == post.reader.text)
    }

    @Test func replyThatTheStoreNoLongerHasEnds() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        try relay.answer().send("one ")
        relay.database.replies = [:]
        relay.clock.advance(by: Self.round)
        #expect(post.interimError == .conversationReplaced)
        #expect(try relay.answer().isCancelled)
    }

    @Test func stopFromAnotherProcessArrivesWithinATick() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        relay.clock.advance(by: Self.round)
        let stopped = otherProcess.stop(post)
        relay.clock.advance(by: .seconds(1))
        #expect(try relay.answer().isCancelled)
        #expect(post.reader.endings.map(\.state) == [.cancelled])
        #expect(post.reader.isDone)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hel [cancelled]"])
        #expect(stopped.record?.state == .cancelled)
    }

    @Test func stopOnAnotherShardNeedsNoStore() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        let post = relay.post("Hi")
        try relay.answer().send("Hel")
        let stopped = other.stop(post)
        relay.clock.advance(by: .seconds(1))
        #expect(stopped.record?.state == .cancelled)
        #expect(other.store.count(.signal) == 0)
        #expect(post.isOver)
    }

    @Test func readerInAnotherProcessKeepsAReplyRunning() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        relay.startJournal()
        let post = relay.post("Hi", onDisconnect: .cancel(after: .seconds(5)))
        try relay.answer().send("a")
        relay.clock.advance(by: Self.round)
        post.subscription?.cancel()
        let reader = try otherProcess.read(post)
        for _ in 0..<30 {
            relay.clock.advance(by: .seconds(1))
            try relay.answer().send("b")
        }
        #expect(try relay.answer().isCancelled == false)
        try relay.complete("c")
        relay.clock.advance(by: .seconds(1))
        #expect(reader.text == "a" + String(repeating: "b", count: 30) + "c")
        #expect(reader.isDone)
    }

    @Test func readersOnOtherShardsAreSignalledAtOnce() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        let post = relay.post("Hi")
        try relay.answer().send("one ")
        let readers = try (0..<50).map { _ in try other.read(post) }
        relay.clock.settle()
        try relay.answer().send("two ")
        relay.clock.settle()
        #expect(readers.allSatisfy { $0.text == "one two " })
        try relay.complete("three")
        #expect(readers.allSatisfy { $0.text == "one two three" && $0.isDone })
        // Only the ending: the memory had already released the reply.
        #expect(other.store.count(.read) <= 1)
        // Followers are released a while after their readers.
        relay.clock.advance(by: .seconds(20))
    }

    @Test func replyOfADeadProcessIsRegeneratedIfItsClientWantsThat() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        otherProcess.startJournal()
        relay.startJournal()
        let post = relay.post("Hi", onInterrupt: .regenerate)
        try relay.answer().send("lost ")
        relay.clock.advance(by: Self.round)
        let reader = try otherProcess.read(post)
        relay.clock.advance(by: Self.round)
        #expect(reader.text == "lost ")
        relay.database.dead.insert(1)
        otherProcess.adopt()
        #expect(try otherProcess.answer().prompts == ["user: Hi"])
        try otherProcess.answer().send("found")
        relay.clock.advance(by: Self.round)
        #expect(reader.resets == 1)
        #expect(reader.text == "found")
        try otherProcess.answer().finish()
        relay.clock.advance(by: .seconds(1))
        #expect(reader.isDone)
        #expect(reader.positions.last?.attempt == 2)
        #expect(relay.database.transcript() == ["user: Hi", "assistant: found [complete]"])
    }

    @Test func catchingUpReaderLearnsThatTheConversationIsGone() throws {
        let relay = TestRelay()
        relay.startJournal()
        let post = relay.post("Hi")
        let late = try relay.read(post)
        late.isFull = true
        for _ in 0..<40 {
            try relay.answer().send(String(repeating: "lorem ipsum ", count: 1000))
            relay.clock.advance(by: Self.round)
        }
        relay.delete()
        late.isFull = false
        relay.subscription(of: late)?.listenerIsReady()
        relay.clock.settle()
        #expect(late.ends.map(\.?.code) == [.conversationReplaced] && late.endings.isEmpty)
    }

    @Test func storedReplyIsReadWhole() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        // It is stored, but the reply does not know yet.
        relay.store.faults[.closeTurn] = [.lost]
        let line = #"{"model":"m","message":{"role":"assistant","content":"all"},"done":true,"done_reason":"stop"}"#
        try relay.answer().sendLine(line)
        try relay.answer().end(nil)
        relay.clock.settle()
        #expect(!post.isOver)
        let page = try relay.readWhole(post)
        #expect(String(decoding: page.text, as: UTF8.self) == "all")
        #expect(page.ending?.state == .complete)
    }

    @Test func wholeReplyOfADeadProcessHasALastEvent() throws {
        let relay = TestRelay()
        let otherProcess = relay.otherProcess()
        let post = relay.post("Hi")
        relay.database.dead = [1]
        otherProcess.post("again")
        relay.clock.advance(by: .seconds(1))
        let ending = try #require(try otherProcess.readWhole(post).ending)
        #expect(ending.state == .interrupted)
        #expect(String(decoding: ending.lastEvent, as: UTF8.self).contains(#""code":"interrupted""#))
    }

    @Test func replyToBeFinishedNeedsNoReader() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onDisconnect: .finish)
        post.subscription?.cancel()
        relay.clock.advance(by: .seconds(600))
        try relay.complete("Hello")
        #expect(relay.database.transcript() == ["user: Hi", "assistant: Hello [complete]"])
    }

    @Test func slowReaderAmongOthersDoesNotPauseTheModel() throws {
        let relay = TestRelay()
        let post = relay.post("Hi")
        let slow = try relay.read(post)
        relay.clock.settle()
        slow.isFull = true
        for index in 0..<10 {
            try relay.answer().send("\(index) ")
        }
        #expect(try relay.answer().isPaused == false)
        relay.clock.settle()
        #expect(slow.text == "0 ")
        slow.isFull = false
        relay.subscription(of: slow)?.listenerIsReady()
        relay.clock.settle()
        #expect(slow.text == "0 1 2 3 4 5 6 7 8 9 ")
        try relay.complete("end")
        #expect(slow.text == post.reader.text)
        #expect(slow.isDone && post.isComplete)
    }
}
