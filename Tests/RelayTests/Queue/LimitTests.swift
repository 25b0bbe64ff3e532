import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct LimitTests {
    @Test func waitingTurnsOfAConversationAreLimited() {
        var limits = RelayLimits()
        limits.maximumWaitingTurns = 2
        let relay = TestRelay(limits)
        let posts = (0..<4).map { relay.post("p\($0)") }
        #expect(posts.map { $0.refusal?.code } == [nil, nil, nil, .overloaded])
        #expect(posts[3].refusal?.message.hasPrefix("2 prompts of this conversation are waiting already.") == true)
        #expect(relay.post("other", appID: "b").refusal == nil)
        relay.model.generations[0].finish()
        relay.clock.settle()
        #expect(relay.post("again").refusal == nil)
    }

    @Test func conversationsWithNamesThatOnlyLookTheSameAreLimitedSeparately() {
        var limits = RelayLimits()
        limits.maximumWaitingTurns = 0
        let relay = TestRelay(limits)
        // U+00E9, and e with U+0301.
        #expect(relay.post("1", appID: "caf\u{E9}").refusal == nil)
        #expect(relay.post("2", appID: "cafe\u{301}").refusal == nil)
        #expect(relay.post("3", appID: "caf\u{E9}").refusal?.code == .overloaded)
    }

    @Test func repliesOfAProcessAreLimited() throws {
        var limits = RelayLimits()
        limits.maximumReplies = 2
        let relay = TestRelay(limits)
        let other = relay.otherShard()
        relay.post("1", appID: "a")
        other.post("2", appID: "b")
        #expect(relay.post("3", appID: "c").refusal?.code == .overloaded)
        #expect(relay.database.rows("c").isEmpty)
        try relay.complete("done")
        #expect(relay.post("3", appID: "c").refusal == nil)
    }

    @Test func appHasHalfOfTheReplies() throws {
        var limits = RelayLimits()
        limits.maximumReplies = 4
        let relay = TestRelay(limits)
        let conversations = ["ada", "bob", "eve"].map { ConversationKey(Owner(app: "a", person: $0), name: "x").text }
        relay.post("1", appID: conversations[0])
        relay.post("2", appID: conversations[1])
        let refusal = relay.post("3", appID: conversations[2]).refusal
        #expect(refusal?.code == .overloaded && refusal?.message.contains("its share") == true)
        #expect(throws: RelayError.self) { try relay.service.admitPassedRequest(of: Owner(app: "a", person: "eve")) }
        let passed = try relay.service.admitPassedRequest(of: Owner(app: "b"))
        #expect(relay.post("4", appID: "b").refusal == nil)
        passed.end()
        let first = try #require(relay.model.generations.first)
        first.send("done")
        first.finish()
        relay.clock.settle()
        #expect(relay.post("5", appID: conversations[2]).refusal == nil)
    }

    @Test func adoptionOfRepliesIsLimited() throws {
        var limits = RelayLimits()
        limits.maximumReplies = 4
        let relay = TestRelay(limits)
        let adopter = relay.otherProcess()
        for index in 0..<4 {
            relay.post("Hi", appID: "a\(index)", onInterrupt: .regenerate)
        }
        adopter.post("Hi")
        relay.database.dead = [1]
        adopter.adopt()
        #expect(adopter.model.generations.count == 4)
        #expect(adopter.board.count == 4)
        adopter.adopt()
        #expect(adopter.board.count == 4)
        try adopter.complete("done")
        adopter.adopt()
        #expect(adopter.model.generations.count == 5)
    }

    @Test func promptThatIsBeingStoredCountsTowardsTheLimit() {
        var limits = RelayLimits()
        limits.maximumWaitingTurns = 0
        let relay = TestRelay(limits)
        relay.store.faults[.openTurn] = [.hang]
        let first = relay.post("one")
        let second = relay.post("two")
        #expect(second.refusal?.code == .overloaded)
        #expect(second.refusal?.message.hasPrefix("A prompt of this conversation is being answered already.") == true)
        relay.store.release(.openTurn)
        relay.clock.settle()
        #expect(first.reply != nil)
        #expect(relay.post("three").refusal?.code == .overloaded)
        #expect(relay.board.count == 1)
    }

    @Test func longWaitDoesNotAccumulateHandlers() throws {
        let relay = TestRelay()
        relay.post("one")
        let second = relay.post("two")
        relay.clock.advance(by: .seconds(3600))
        try relay.complete("1")
        try relay.complete("2")
        #expect(second.isComplete)
        #expect(relay.store.count(.history) == 1)
    }
}
