import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Replies that wait while the list of model servers changes.
@Suite(.timeLimit(.minutes(30))) struct ChangedUpstreamTests {
    /// A process whose reply waits for the slot that another process has.
    private struct Queue {
        let relay: TestRelay
        let cluster = SlotCluster()
        let holder: SlotReply
        let old = ScriptedModel()
        let new = ScriptedModel()

        init() {
            relay = TestRelay(slots: cluster.slots)
            holder = cluster.process.request("other")
            relay.service.upstreams.update([Self.upstream("u", old)])
        }

        static func upstream(_ name: String, _ model: ScriptedModel, context: Int? = nil) -> Upstream {
            var description = UpstreamDescription(name: name, kind: .ollama)
            description.slots = name == "u" ? 1 : nil
            description.priority = name == "u" ? 1 : 0
            description.contextLength = context
            return Upstream(description, model: model, health: UpstreamHealth())
        }

        /// Releases the slot of the other process, so that the reply gets it.
        func proceed() {
            holder.release()
            relay.clock.advance(by: .seconds(2))
        }

        /// Whether the slot is free.
        var isFree: Bool { cluster.process.request("next").hasSlot }
    }

    @Test func waitingPromptIsSentToTheChangedServer() throws {
        let queue = Queue()
        let post = queue.relay.post("Hi")
        queue.relay.service.upstreams.update([Queue.upstream("u", queue.new, context: 4_096)])
        queue.proceed()
        let answer = try #require(queue.new.generations.first)
        #expect(queue.old.generations.isEmpty && answer.request.contextLength == 4_096)
        #expect(!queue.isFree)
        answer.send("Hello")
        answer.finish()
        queue.relay.clock.advance(by: .seconds(2))
        #expect(post.isComplete && post.reader.text == "Hello")
    }

    @Test func promptThatWaitedForARemovedServerGoesToAnother() throws {
        let queue = Queue()
        let post = queue.relay.post("Hi")
        queue.relay.service.upstreams.update([Queue.upstream("v", queue.new)])
        queue.proceed()
        #expect(queue.old.generations.isEmpty && queue.new.generations.count == 1)
        #expect(queue.isFree)
        let answer = try #require(queue.new.generations.first)
        answer.send("Hello")
        answer.finish()
        queue.relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Hello")
    }

    @Test func promptThatWaitedForTheOnlyServerFailsWhenItIsRemoved() {
        let queue = Queue()
        let post = queue.relay.post("Hi")
        queue.relay.service.upstreams.update([])
        queue.proceed()
        #expect(post.code == .model(.modelNotFound) && post.isOver)
        #expect(queue.old.generations.isEmpty && queue.isFree)
    }

    @Test func waitingPromptIsUnavailableWhenItsServerBecomesUnusable() {
        let queue = Queue()
        let post = queue.relay.post("Hi")
        queue.relay.service.upstreams.update(
            [], unusable: [UnusableUpstream(UpstreamNames(server: "u"), reason: "its key cannot be found", detail: "")])
        queue.proceed()
        #expect(post.code == .model(.unavailable) && post.isOver)
        #expect(queue.old.generations.isEmpty && queue.isFree)
    }

    @Test func waitingPromptDoesNotGoToAServerThatIsNotConfiguredForItsModel() {
        let queue = Queue()
        let post = queue.relay.post("Hi")
        var other = UpstreamDescription(name: "v", kind: .openai)
        other.models = ["another"]
        queue.relay.service.upstreams.update([Upstream(other, model: queue.new, health: UpstreamHealth())])
        queue.proceed()
        #expect(post.code == .model(.modelNotFound) && post.isOver)
        #expect(queue.new.generations.isEmpty)
    }

    @Test func adoptedReplyDoesNotGoToAServerThatIsNotConfiguredForItsModel() throws {
        let relay = TestRelay()
        let post = relay.post("Hi", onInterrupt: .regenerate)
        let adopter = relay.otherProcess()
        var other = UpstreamDescription(name: "v", kind: .openai)
        other.models = ["another"]
        adopter.service.upstreams.update([Upstream(other, model: adopter.model, health: UpstreamHealth())])
        let reader = try adopter.read(post)
        relay.database.dead = [relay.store.process]
        adopter.adopt()
        adopter.clock.advance(by: .seconds(1))
        #expect(adopter.model.generations.isEmpty)
        #expect(reader.ends.count == 1 && reader.ends.first??.code == .model(.modelNotFound))
    }

    @Test func promptForAnUnlistedModelIsRefusedBeforeItIsStored() {
        let relay = TestRelay()
        var other = UpstreamDescription(name: "v", kind: .openai)
        other.models = ["another"]
        relay.service.upstreams.update([Upstream(other, model: relay.model, health: UpstreamHealth())])
        let post = relay.post("Hi")
        #expect(post.refusal?.code == .model(.modelNotFound))
        #expect(relay.database.replies.isEmpty && relay.board.count == 0)
    }

    @Test func promptThatDoesNotFitTheChangedServerReleasesTheSlot() {
        let queue = Queue()
        let post = queue.relay.post(String(repeating: "word ", count: 100))
        queue.relay.service.upstreams.update([Queue.upstream("u", queue.new, context: 16)])
        queue.proceed()
        #expect(post.code == .model(.contextTooLong) && queue.new.generations.isEmpty && queue.isFree)
    }

    @Test func retryAfterAPauseGoesToTheChangedServer() throws {
        let relay = TestRelay(failovers: 2)
        let (old, new) = (ScriptedModel(), ScriptedModel())
        relay.service.upstreams.update([Queue.upstream("a", old)])
        let post = relay.post("Hi")
        try #require(old.generations.first).fail(.failed)
        relay.clock.settle()
        relay.service.upstreams.update([Queue.upstream("a", new), Queue.upstream("b", new)])
        relay.clock.advance(by: .seconds(1))
        #expect(old.generations.count == 1)
        try #require(new.generations.first).fail(.failed)
        relay.clock.advance(by: .seconds(5))
        // A server that was added meanwhile is a candidate, too.
        #expect(new.generations.count == 2)
        let answer = try #require(new.generations.last)
        answer.send("Hello")
        answer.finish()
        relay.clock.settle()
        #expect(post.isComplete)
    }
}
