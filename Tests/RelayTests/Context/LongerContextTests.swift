import ChatterdChat
import Testing

@testable import ChatterdRelay

/// Prompts that are too long for one model server and not for another.
@Suite(.timeLimit(.minutes(30))) struct LongerContextTests {
    private let relay = TestRelay()
    private let models = [ScriptedModel(), ScriptedModel(), ScriptedModel()]

    /// Sets the model servers `a`, `b` …, in the order in which they are asked, with these context sizes; `nil` for an unknown one.
    private func update(_ contexts: Int?...) {
        relay.service.upstreams.update(
            zip(["a", "b", "c"], zip(models, contexts)).enumerated().map { index, server in
                let (name, upstream) = server
                var description = UpstreamDescription(name: name, kind: .openai)
                description.priority = -index
                description.contextLength = upstream.1
                return Upstream(description, model: upstream.0, health: UpstreamHealth())
            })
    }

    private func complete(_ model: Int) throws {
        let answer = try #require(models[model].generations.last)
        answer.send("Hello")
        answer.finish()
        relay.clock.settle()
    }

    private var asked: [Int] { models.map(\.generations.count) }

    private let long = String(repeating: "word ", count: 100)

    @Test func promptThatDoesNotFitGoesToAServerWithALongerContext() throws {
        update(64, nil, 4_096)
        let post = relay.post(long)
        #expect(asked == [0, 0, 1])
        try complete(2)
        #expect(post.isComplete && post.reader.text == "Hello")
    }

    @Test func contextThatAServerListsCountsToo() throws {
        update(nil, 32, 4_096)
        let post = relay.post(long)
        var error = ModelError(.contextTooLong, "It is too long.")
        error.contextLength = 64
        try #require(models[0].generations.last).end(error)
        relay.clock.settle()
        #expect(asked == [1, 0, 1])
        try complete(2)
        #expect(post.isComplete)
    }

    @Test func refusedPromptFailsWithoutALongerContext() {
        update(64, nil, 32)
        let post = relay.post(long)
        #expect(post.code == .model(.contextTooLong) && asked == [0, 0, 0])
    }

    @Test func eachServerIsAskedOnceAndTheLongestGivesTheError() throws {
        update(32, 64, 100)
        let post = relay.post(long)
        #expect(post.code == .model(.contextTooLong) && asked == [0, 0, 0])
        #expect(post.reader.ends.first.flatMap { $0?.message.contains("It takes 100 tokens") } == true)
    }

    @Test func tooLongConversationIsTrimmedAndStaysAtItsServer() throws {
        update(600, 4_096)
        relay.post(long)
        for _ in 0..<6 {
            try complete(0)
            relay.post(long)
        }
        #expect(asked == [7, 0, 0])
        #expect(try #require(models[0].generations.last).prompts.count < 13)
    }

    @Test func failureOfTheServerWithTheLongerContextIsReported() throws {
        update(64, 4_096)
        let post = relay.post(long)
        try #require(models[1].generations.last).fail(.unavailable)
        relay.clock.settle()
        #expect(post.code == .model(.unavailable) && asked == [0, 1, 0])
    }
}
