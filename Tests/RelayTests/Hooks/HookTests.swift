import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

/// Prompts and answers that hooks of the operator see.
@Suite(.timeLimit(.minutes(30))) struct HookTests {
    private func relay(failovers: Int = 0) -> (TestRelay, ScriptedHooks) {
        let hooks = ScriptedHooks()
        return (TestRelay(failovers: failovers, hooks: hooks), hooks)
    }

    private func last(_ hooks: ScriptedHooks, count: Int = 1) throws -> ScriptedHooks.Question {
        try #require(hooks.questions.count == count)
        return hooks.questions[count - 1]
    }

    // MARK: - Prompts

    @Test func refusedPromptIsNotStored() throws {
        let (relay, hooks) = relay()
        hooks.reviewsPrompts = true
        hooks.verdict = { _ throws(RelayError) in throw RelayError(.promptRefused, "No.") }
        let post = relay.post("Hi")
        #expect(
            post.refusal == RelayError(.promptRefused, "No.")
                && relay.database.rows(ConversationKey(parsing: "app")).isEmpty)
        #expect(relay.model.generations.isEmpty)
    }

    @Test func replacedPromptIsStoredAndSent() throws {
        let (relay, hooks) = relay()
        (hooks.reviewsPrompts, hooks.reviewsAnswers) = (true, false)
        hooks.verdict = { $0.replacing("1234", with: "****") }
        let post = relay.post("My card is 1234")
        #expect(try relay.answer().prompts == ["user: My card is ****"])
        try relay.complete("Hello")
        #expect(post.isComplete && hooks.prompts == ["My card is 1234"])
    }

    /// A retry of a client that has lost the connection gets the stored reply, whatever the hooks say now.
    @Test func repeatedPromptIsNotReviewedAgain() throws {
        let (relay, hooks) = relay()
        (hooks.reviewsPrompts, hooks.reviewsAnswers) = (true, false)
        let first = relay.post("Hi", key: "k")
        hooks.verdict = { _ throws(RelayError) in throw RelayError(.promptRefused, "No.") }
        let second = relay.post("Hi", key: "k")
        #expect(second.refusal == nil && second.id == first.id && hooks.prompts == ["Hi"])
    }

    // MARK: - Answers

    @Test func answerIsHeldUntilItIsAllowed() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi")
        try relay.complete("Hello")
        let question = try last(hooks)
        #expect(question.text == "Hello" && post.reader.text.isEmpty && !post.isComplete)
        #expect(try relay.readWhole(post).text.isEmpty)
        question.allow()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Hello" && post.reader.resets == 0)
        #expect(String(decoding: try relay.readWhole(post).text, as: UTF8.self) == "Hello")
    }

    @Test func answerIsReplaced() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi")
        try relay.complete("A secret")
        try last(hooks).replace("Something else")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Something else")
        #expect(!post.reader.lines.contains { $0.contains("secret") })
    }

    @Test func refusedAnswerIsAnErrorWithoutText() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi")
        try relay.complete("A secret")
        try last(hooks).refuse("Not this.")
        relay.clock.settle()
        #expect(post.reader.text.isEmpty && !post.isComplete)
        let ending = try #require(post.reader.endings.last)
        let event = String(decoding: ending.lastEvent, as: UTF8.self)
        #expect(ending.state == .failed && event.contains("answer_refused") && event.contains("Not this."))
        #expect(try relay.readWhole(post).text.isEmpty)
    }

    /// No client has seen the beginning of an answer that breaks off, so another server begins again.
    @Test func answerThatBreaksOffIsForgotten() throws {
        let (relay, hooks) = relay(failovers: 1)
        let post = relay.post("Hi")
        let answer = try relay.answer()
        answer.send(String(repeating: "long beginning ", count: 40))
        answer.end(ModelError(.incomplete, "broken"))
        relay.clock.advance(by: .seconds(60))
        try relay.complete("Hello")
        #expect(try last(hooks).text == "Hello")
        try last(hooks).allow()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "Hello" && post.reader.resets == 0)
    }

    @Test func eachRoundOfToolsIsReviewed() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f", saying: "I look. ")
        #expect(try last(hooks).text == "I look. " && relay.tools.runs.isEmpty)
        #expect(hooks.questions[0].answer.toolCalls.count == 1)
        hooks.questions[0].allow()
        relay.clock.settle()
        #expect(post.reader.text == "I look. " && relay.tools.runs.count == 1)
        try relay.end(0, "42")
        try relay.complete("It is 42.")
        try last(hooks, count: 2).allow()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "I look. It is 42.")
    }

    @Test func callsOfAReplacedAnswerDoNotRun() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi", offering: ["f"])
        try relay.call("f", saying: "I look. ")
        try last(hooks).replace("No.")
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == "No." && relay.tools.runs.isEmpty)
    }

    @Test func callsForTheClientAreHeldToo() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi", tools: #"[{"function":{"name":"d"}}]"#)
        try relay.call("d", saying: "Where? ")
        #expect(try last(hooks).answer.toolCalls.count == 1 && post.reader.lines.isEmpty)
        try last(hooks).allow()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.lines.contains { $0.contains("tool_calls") })
    }

    /// The last line of an answer may have all of it.
    @Test(arguments: [nil, "No."] as [String?]) func contentOfTheLastLineIsHeldToo(replacement: String?) throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi")
        let answer = try relay.answer()
        let message = #""role":"assistant","content":"SECRET","thinking":"SECRET""#
        answer.sendLine(
            #"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{\#(message)},"done":true,"done_reason":"stop","logprobs":["SECRET"]}"#
        )
        answer.end(nil)
        relay.clock.settle()
        #expect(try last(hooks).text == "SECRET" && post.reader.lines.isEmpty)
        if let replacement { try last(hooks).replace(replacement) } else { try last(hooks).allow() }
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == replacement ?? "SECRET")
        let end = String(decoding: post.reader.endings.last?.lastEvent ?? [], as: UTF8.self)
        #expect(!end.contains("SECRET") && end.contains("stop"))
    }

    /// With tools of the server, calls for the device come at the end of the answer.
    @Test(arguments: [true, false]) func callsForTheClientBesideToolsOfTheServerAreHeldToo(isAllowed: Bool) throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi", tools: #"[{"function":{"name":"d"}}]"#, offering: ["f"])
        try relay.call("d", saying: "Where? ")
        #expect(try last(hooks).answer.toolCalls.count == 1 && post.reader.lines.isEmpty)
        if isAllowed { try last(hooks).allow() } else { try last(hooks).replace("No.") }
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == (isAllowed ? "Where? " : "No."))
        #expect(post.reader.lines.contains { $0.contains("tool_calls") } == isAllowed)
        let stored = try relay.readWhole(post)
        #expect(stored.toolCalls.isEmpty == !isAllowed)
    }

    @Test func longAnswerIsCutBetweenCharacters() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi")
        let text = "a" + String(repeating: "🐣é日", count: 30_000)
        try relay.complete(text)
        try last(hooks).allow()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == text && post.reader.lines.count > 3)
    }

    @Test func stoppedReplyDoesNotWaitForTheHook() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi")
        try relay.complete("Hello")
        _ = relay.stop(post)
        #expect(try last(hooks).isCancelled && post.reader.text.isEmpty)
        #expect(post.reader.lines.contains { $0.contains("cancelled") })
    }

    /// The check of the form sees what the client gets.
    @Test func formIsCheckedAfterTheReview() throws {
        let (relay, hooks) = relay()
        let post = relay.post("Hi", format: #"{"type":"object","required":["a"]}"#)
        try relay.complete(#"{"b":1}"#)
        try last(hooks).replace(#"{"a":1}"#)
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == #"{"a":1}"#)
    }
}
