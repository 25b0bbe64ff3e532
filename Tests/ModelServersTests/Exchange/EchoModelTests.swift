import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects
@testable import ChatterdModelServers

@Suite(.timeLimit(.minutes(30))) struct EchoModelTests {
    private static func message(_ content: String, role: String = "user") -> ModelMessage {
        ModelMessage(role: role, content: content)
    }

    /// The model without pauses between its words.
    private static func model() -> Confined<any LanguageModel> {
        ModelHarness.onShard { Confined(EchoModel(shard: $0, interval: .zero, now: { 0 }), to: $0) }
    }

    @Test func echoReportsItsHistory() {
        let answer = EchoModel.answer(to: [
            Self.message("Be kind.", role: "system"), Self.message("one"), Self.message("1", role: "assistant"),
            Self.message("two"),
        ])
        #expect(answer == "I am echo, the built-in model. I was given 4 messages of 2 turns. You said: two")
        #expect(EchoModel.answer(to: [Self.message("Hi")]).contains("1 message of 1 turn."))
    }

    @Test func echoRepeatsTheEarlierPrompt() {
        #expect(EchoModel.answer(to: [Self.message("What did I say?")]) == "You have said nothing before this.")
        let answer = EchoModel.answer(to: [
            Self.message("It rains."), Self.message("No.", role: "assistant"), Self.message("what DID I say"),
        ])
        #expect(answer == "Before this, you said: It rains.")
    }

    @Test(arguments: ["", " ", "a", " a  b ", "a\n\nb\tc", "e\u{301} \u{1F468}\u{200D}\u{1F469} x\r\ny"])
    func wordsJoinToTheText(_ text: String) {
        let words = EchoModel.words(of: text)
        #expect(words.joined() == text)
        #expect(words.dropLast().allSatisfy { $0.last?.isWhitespace == true })
    }

    @Test func echoDecodesItsMessages() {
        let messages = [
            Self.message("a \"b\"\n\u{1F600}"), ModelMessage(role: "tool", content: "", extras: "\"name\":[{\"x\":1}]"),
        ]
        var encoded = EncodedConversation()
        for message in messages {
            encoded.append(message)
        }
        let read = EchoModel.messages(in: encoded)
        #expect(read.map(\.role) == ["user", "tool"])
        #expect(read.map(\.content) == messages.map(\.content))
        #expect(EchoModel.messages(in: EncodedConversation()).isEmpty)
    }

    @Test func echoAnswersWordByWordInOllamasShape() async throws {
        try await blocking {
            let model = Self.model()
            let answer = try ModelHarness.start(model, messages: [Self.message("Hello there")]).outcome()
            #expect(answer.isComplete)
            #expect(answer.content == EchoModel.answer(to: [Self.message("Hello there")]))
            #expect(answer.lines.count == EchoModel.words(of: answer.content).count + 1)
            #expect(answer.dones.dropLast().allSatisfy { !$0 })
            #expect(answer.lines.first?.hasPrefix(#"{"model":"tiny","created_at":"1970-"#) == true)
        }
    }

    @Test func echoCanBePausedAndCancelled() async throws {
        try await blocking {
            let model = Self.model()
            let held = ModelHarness.start(
                model,
                RecordingConsumer { generation, _ in
                    generation.pause()
                    generation.resume()
                })
            let whole = try held.outcome()
            #expect(whole.isComplete)

            let cancelled = Gate()
            let consumer = ModelHarness.start(
                model,
                RecordingConsumer { generation, count in
                    if count == 2 {
                        generation.cancel()
                        cancelled.open()
                    }
                })
            #expect(cancelled.wait())
            let other = try ModelHarness.start(model).outcome()
            #expect(other.isComplete)
            let answer = consumer.state.withLock { $0 }
            #expect(answer.lines.count == 2 && answer.ends.isEmpty)
        }
    }

    @Test func echoListsItsVariants() async throws {
        let names = try await Self.names()
        #expect(names.first == "echo" && names.contains("echo:error") && names.count == EchoVariant.allCases.count)
    }

    private static func names() async throws -> [String] {
        let shard = try Shard(index: 0)
        return try await EchoModel(shard: shard, interval: .zero, now: { 0 }).listModels().map(\.name)
    }

    @Test func thinkingAndToolCallsAreOllamasMembers() async throws {
        try await blocking {
            let model = Self.model()
            let thinking = try ModelHarness.start(model, model: "echo:thinking").outcome()
            #expect(thinking.isComplete)
            #expect(thinking.lines.first?.contains(#""content":"","thinking":"The ""#) == true)
            let tool = try ModelHarness.start(model, model: "echo:tool").outcome()
            #expect(tool.isComplete)
            let call = #""tool_calls":[{"function":{"name":"echo","arguments":{"text":"Hi"}}}]"#
            #expect(tool.lines.first?.contains(call) == true)
        }
    }

    @Test func failureComesAfterTheTextBeforeIt() async throws {
        try await blocking {
            let model = Self.model()
            let failed = try ModelHarness.start(model, model: "echo:error").outcome()
            #expect(failed.lines.isEmpty && failed.code == .failed)
            let cut = try ModelHarness.start(model, model: "echo:cut").outcome()
            #expect(!cut.content.isEmpty && cut.code == .incomplete && !cut.dones.contains(true))
        }
    }
}
