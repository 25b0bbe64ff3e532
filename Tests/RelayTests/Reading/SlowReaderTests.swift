import ChatterdChat
import Testing

@testable import ChatterdRelay

/// A single reader that receives no text, at a model server with one slot.
@Suite(.timeLimit(.minutes(30))) struct SlowReaderTests {
    private let cluster = SlotCluster()
    private let relay: TestRelay
    private let model = ScriptedModel()

    init() {
        relay = TestRelay(slots: cluster.slots)
        var description = UpstreamDescription(name: "u", kind: .ollama)
        description.slots = 1
        relay.service.upstreams.update([Upstream(description, model: model, health: UpstreamHealth())])
    }

    @Test func slotIsNotKeptForASlowReaderWhileOthersWait() throws {
        let post = relay.post("Hi")
        let answer = try #require(model.generations.first)
        post.reader.isFull = true
        answer.send("a")
        #expect(answer.isPaused)
        let other = cluster.process.request("other")
        relay.clock.advance(by: .seconds(4))
        #expect(answer.isPaused && other.isWaiting)
        relay.clock.advance(by: .seconds(1))
        #expect(!answer.isPaused)
        // The slot is not kept a second time either.
        answer.send("b")
        post.subscription?.listenerIsReady()
        relay.clock.settle()
        answer.send("c")
        #expect(!answer.isPaused)
        answer.finish()
        relay.clock.advance(by: .seconds(1))
        post.reader.isFull = false
        post.subscription?.listenerIsReady()
        relay.clock.advance(by: .seconds(1))
        #expect(post.isComplete && post.reader.text == "abc")
    }

    @Test func slotIsKeptForASlowReaderUntilAnotherReplyWaits() throws {
        let post = relay.post("Hi")
        let answer = try #require(model.generations.first)
        post.reader.isFull = true
        answer.send("a")
        relay.clock.advance(by: .seconds(60))
        #expect(answer.isPaused)
        cluster.process.request("other")
        relay.clock.advance(by: .seconds(5))
        #expect(!answer.isPaused)
    }
}
