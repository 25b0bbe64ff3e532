import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TurnOrderTests {
    @Test func secondTurnWaitsForTheFirstAndGetsItsAnswer() throws {
        let relay = TestRelay()
        relay.post("one")
        let second = relay.post("two")
        #expect(relay.model.generations.count == 1)
        try relay.complete("1")
        #expect(try relay.answer().prompts == ["user: one", "assistant: 1", "user: two"])
        try relay.complete("2")
        #expect(second.isComplete)
        #expect(
            relay.database.transcript() == [
                "user: one", "assistant: 1 [complete]", "user: two", "assistant: 2 [complete]",
            ])
    }

    @Test func conversationsDoNotWaitForEachOther() {
        let relay = TestRelay()
        relay.post("one", appID: "a")
        relay.post("two", appID: "b")
        #expect(relay.model.generations.count == 2)
    }

    @Test func manyTurnsOnTwoShardsRunInOrder() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        let posts = (0..<8).map { ($0 % 2 == 0 ? relay : other).post("p\($0)") }
        for index in posts.indices {
            let shard = index % 2 == 0 ? relay : other
            #expect(relay.model.generations.count + other.model.generations.count == index + 1)
            try shard.complete("a\(index)")
        }
        #expect(posts.count { $0.isComplete } == posts.count)
        let expected = (0..<8).flatMap { ["user: p\($0)", "assistant: a\($0) [complete]"] }
        #expect(relay.database.transcript() == expected)
        #expect(relay.board.count == 0)
    }

    @Test func endOfATurnStartsTheNextOnAnotherShardAtOnce() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        relay.post("one")
        other.post("two")
        try relay.answer().send("par")
        try relay.answer().fail(.failed)
        relay.clock.settle()
        #expect(try other.answer().prompts == ["user: one", "assistant: par", "user: two"])
    }

    @Test func turnPollsForATurnOfAnotherProcess() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.post("one")
        other.post("two")
        relay.clock.advance(by: .seconds(60))
        #expect(other.model.generations.isEmpty)
        try relay.complete("1")
        relay.clock.advance(by: .milliseconds(200))
        #expect(try other.answer().prompts == ["user: one", "assistant: 1", "user: two"])
    }

    @Test func turnOfADeadProcessIsSettled() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        relay.post("one")
        let second = other.post("two")
        relay.clock.advance(by: .seconds(1))
        relay.database.dead = [relay.store.process]
        relay.clock.advance(by: .milliseconds(200))
        #expect(try other.answer().prompts == ["user: two"])
        try other.complete("2")
        #expect(second.isComplete)
        #expect(relay.database.transcript()[1] == "assistant:  [interrupted]")
    }

    @Test func replyOfADeadProcessIsSettledByItsReader() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        let post = relay.post("one")
        relay.database.dead = [relay.store.process]
        let reader = try other.read(post)
        other.clock.advance(by: .seconds(1))
        #expect(reader.ends.count == 1)
        #expect(relay.database.transcript() == ["user: one", "assistant:  [interrupted]"])
    }

    @Test func turnWaitsForAnAdoptedTurnFromItsClaimOn() throws {
        let relay = TestRelay()
        let adopter = relay.otherProcess()
        let first = relay.post("one", onInterrupt: .regenerate)
        let second = adopter.post("two")
        relay.database.dead = [relay.store.process]
        relay.clock.advance(by: .seconds(1))
        adopter.store.faults[.adopt] = [.hang]
        adopter.adopt()
        relay.clock.advance(by: .seconds(1))
        #expect(adopter.model.generations.isEmpty)
        adopter.store.release(.adopt)
        relay.clock.settle()
        #expect(try adopter.answer().prompts == ["user: one"])
        try adopter.complete("1")
        #expect(try adopter.answer().prompts == ["user: one", "assistant: 1", "user: two"])
        try adopter.complete("2")
        #expect(second.isComplete && !first.isComplete)
    }

    @Test func claimedTurnThatWasNotStartedCountsAsDead() throws {
        let relay = TestRelay()
        let adopter = relay.otherProcess()
        relay.post("one", onInterrupt: .regenerate)
        relay.database.dead = [relay.store.process]
        adopter.store.faults[.adopt] = [.unavailable]
        adopter.adopt()
        #expect(adopter.board.count == 0)
        adopter.post("two")
        #expect(try adopter.answer().prompts == ["user: two"])
    }

    @Test func processThatCountedAsDeadReportsTheStoredEnd() throws {
        let relay = TestRelay()
        let other = relay.otherProcess()
        let first = relay.post("one")
        relay.database.dead = [relay.store.process]
        other.post("two")
        try relay.complete("1")
        #expect(first.reader.resets == 1 && first.reader.text.isEmpty)
        #expect(first.ending == "interrupted interrupted")
        #expect(first.isOver)
        #expect(relay.database.transcript()[1] == "assistant:  [interrupted]")
    }

    @Test func turnIsNotAbandonedWhileItIsBeingOpened() throws {
        let relay = TestRelay()
        let other = relay.otherShard()
        // Committed by this process, but not on the board: its confirmation may still arrive.
        other.store.faults[.openTurn] = [.hang]
        let late = other.post("late")
        _ = relay.database.append([ModelMessage(role: "user", content: "one")], to: "app", holder: 1)
        relay.post("two")
        relay.clock.advance(by: .seconds(5))
        #expect(relay.model.generations.isEmpty)
        other.store.release(.openTurn)
        relay.clock.advance(by: .seconds(1))
        #expect(try relay.answer().prompts == ["user: two"])
        try relay.complete("2")
        relay.clock.advance(by: .seconds(1))
        try other.complete("3")
        #expect(late.isComplete)
    }

    @Test func replyOfAReplacedConversationReportsIt() throws {
        let relay = TestRelay()
        let post = relay.post("one")
        relay.replace(with: "Be brief.")
        try relay.complete("1")
        #expect(post.code == .conversationReplaced)
        #expect(relay.database.transcript() == ["system: Be brief."])
        relay.post("two")
        #expect(try relay.answer().prompts == ["system: Be brief.", "user: two"])
    }

    @Test func reusedNumberAfterADeletionIsAnotherTurn() throws {
        let relay = TestRelay()
        relay.startJournal()
        let old = relay.post("old")
        try relay.answer().send("gone")
        relay.delete()
        let new = relay.post("new")
        try #require(old.reply?.turn == new.reply?.turn)
        relay.clock.advance(by: .seconds(1))
        #expect(old.code == .conversationReplaced && old.isOver)
        #expect(relay.board.count == 1)
        let waiting = relay.post("next")
        relay.clock.advance(by: .seconds(5))
        #expect(relay.model.generations.count == 2)
        try relay.complete("1")
        #expect(new.isComplete)
        #expect(try relay.answer().prompts == ["user: new", "assistant: 1", "user: next"])
        try relay.complete("2")
        #expect(waiting.isComplete)
        #expect(relay.board.count == 0)
    }

    @Test func waitingTurnIsNotAnsweredWithAnotherConversationsPrompts() throws {
        let relay = TestRelay()
        relay.post("old")
        let waiting = relay.post("old too")
        relay.delete()
        let first = relay.post("new")
        let second = relay.post("new too")
        try #require(waiting.reply?.turn == second.reply?.turn)
        try relay.answer(0).finish()
        relay.clock.settle()
        try relay.answer(1).finish()
        relay.clock.settle()
        #expect(first.isComplete)
        #expect(waiting.code == .conversationReplaced)
        #expect(relay.model.generations.count == 3)
        #expect(try relay.answer().prompts == ["user: new", "assistant: ", "user: new too"])
    }

    @Test func waitingTurnIsNotAnsweredAfterItsConversationWasReplaced() throws {
        let relay = TestRelay()
        relay.post("one")
        let second = relay.post("two")
        relay.replace(with: "Be brief.")
        try relay.complete("1")
        #expect(second.code == .conversationReplaced)
        #expect(relay.model.generations.count == 1)
        #expect(relay.board.count == 0)
    }
}
