import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

/// Prompts whose opening the store committed, but did not confirm.
@Suite(.timeLimit(.minutes(30))) struct UnconfirmedTests {
    private func resolve(_ relay: TestRelay) {
        relay.run { service in await service.resolveUnconfirmed() }
    }

    @Test func promptWithoutAKeyIsWithdrawn() {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.lost]
        #expect(relay.post("one").refusal?.code == .storeUnavailable)
        relay.store.faults[.withdraw] = [.unavailable]
        resolve(relay)
        #expect(relay.database.rows().count == 1)
        resolve(relay)
        #expect(relay.database.rows().isEmpty && relay.database.replies.isEmpty)
        #expect(relay.model.generations.isEmpty && relay.board.count == 0)
    }

    @Test func promptWithAKeyIsAnswered() throws {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.lost]
        #expect(relay.post("one", key: "k").refusal?.code == .storeUnavailable)
        resolve(relay)
        #expect(relay.board.count == 1)
        let other = relay.otherProcess()
        let again = other.post("one", key: "k")
        try relay.complete("1")
        other.clock.advance(by: .seconds(1))
        #expect(again.reader.text == "1" && again.reader.endings.count == 1)
        #expect(relay.model.generations.count == 1 && relay.board.count == 0)
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
    }

    @Test(arguments: [false, true])
    func retryBeforeTheLookUpIsAnswered(isOnAnotherShard: Bool) throws {
        let relay = TestRelay()
        let retrying = isOnAnotherShard ? relay.otherShard() : relay
        relay.store.faults[.openTurn] = [.lost]
        #expect(relay.post("one", key: "k").refusal?.code == .storeUnavailable)
        let again = retrying.post("one", key: "k")
        resolve(relay)
        try retrying.complete("1")
        #expect(again.isComplete && again.reader.text == "1")
        #expect(relay.database.transcript() == ["user: one", "assistant: 1 [complete]"])
        #expect(relay.board.count == 0)
    }

    @Test func nextPromptWaitsForAnUnconfirmedPromptWithAKey() throws {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.lost]
        relay.post("one", key: "k")
        let second = relay.post("two")
        #expect(try relay.answer().prompts == ["user: one"])
        try relay.complete("1")
        #expect(try relay.answer().prompts == ["user: one", "assistant: 1", "user: two"])
        try relay.complete("2")
        #expect(second.isComplete)
    }

    @Test func promptThatWasNotStoredIsDropped() {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.lost]
        relay.post("one")
        relay.database.delete("app")
        relay.database.replies = [:]
        for _ in 0..<20 {
            resolve(relay)
        }
        #expect(relay.store.count(.withdraw) == 10)
    }

    @Test func promptThatWasCertainlyNotStoredIsNotSearched() {
        let relay = TestRelay()
        relay.store.faults[.openTurn] = [.unavailable]
        #expect(relay.post("one").refusal?.code == .storeUnavailable)
        resolve(relay)
        #expect(relay.store.count(.withdraw) == 0)
    }
}
