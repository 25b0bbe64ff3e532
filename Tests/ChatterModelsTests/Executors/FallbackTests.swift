import ChatterModels
import ChatterdBasics
import Testing

/// A model that cannot answer.
private struct AbsentLLM: LLM {
    let name = "absent"
    let availability: Availability

    func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        .of([], error: .failed("It was asked."))
    }
}

@Suite(.timeLimit(.minutes(30))) struct FallbackTests {
    @Test func firstAvailableModelAnswers() async throws {
        let llm = FallbackLLM(
            AbsentLLM(availability: .unavailable(.notEnabled)), AbsentLLM(availability: .downloading(progress: 0.5)),
            EchoLLM())
        #expect(await llm.isAvailable)
        #expect(try await llm.reply(to: "Write a haiku about Berlin.").content == "Write a haiku about Berlin.")
    }

    @Test func modelThatFailsBeforeItsFirstEventIsReplaced() async throws {
        let failing = ScriptedLLM(scripts: [{ _ in .of([], error: .failed("broken")) }])
        #expect(try await FallbackLLM(failing, EchoLLM()).reply(to: "Hi").content == "Hi")
        #expect(failing.requests.count == 1)
    }

    @Test func modelThatWaitsAndFailsIsReplaced() async throws {
        let waiting = GenerationEvent.waiting(.connectionLost("No network.", retryAfter: .seconds(1)))
        let failing = ScriptedLLM(scripts: [{ _ in .of([waiting], error: .unavailable(.unreachable("No network."))) }])
        #expect(try await FallbackLLM(failing, EchoLLM()).reply(to: "Hi").content == "Hi")
    }

    @Test func modelThatHasBegunIsNotReplaced() async {
        let failing = ScriptedLLM(scripts: [{ _ in .of([.text("Ha")], error: .failed("broken")) }])
        await #expect(throws: LLMError.failed("broken")) { try await FallbackLLM(failing, EchoLLM()).reply(to: "Hi") }
        // Another model would get the same wrong request.
        let refusing = ScriptedLLM(scripts: [{ _ in .of([], error: .rejected("wrong")) }])
        await #expect(throws: LLMError.rejected("wrong")) { try await FallbackLLM(refusing, EchoLLM()).reply(to: "Hi") }
    }

    /// A model that counts how often it is asked whether it is available.
    private final class AskedLLM: LLM {
        let name = "asked"
        let questions = Lock(0)
        let answers: ScriptedLLM

        init(_ answers: ScriptedLLM) {
            self.answers = answers
        }

        var availability: Availability {
            questions.withLock { $0 += 1 }
            return .available
        }

        func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
            answers.events(for: request)
        }
    }

    @Test func modelThatAnsweredIsNotAskedAgain() async throws {
        let first = AskedLLM(
            ScriptedLLM(scripts: [
                { _ in .of(.text("One")) }, { _ in .of(.text("Two")) }, { _ in .of([], error: .failed("broken")) },
                { _ in .of(.text("Four")) },
            ]))
        let second = AskedLLM(ScriptedLLM(.text("Three")))
        let llm = FallbackLLM(first, second)
        var answers: [String] = []
        var questions: [[Int]] = []
        for _ in 0..<4 {
            answers.append(try await llm.reply(to: "Hi").content)
            questions.append([first, second].map { $0.questions.withLock { $0 } })
        }
        // The second model answers once, and is followed by the first one as soon as that can.
        #expect(answers == ["One", "Two", "Three", "Four"])
        #expect(questions == [[1, 0], [1, 0], [1, 1], [2, 1]])
    }

    @Test func reasonOfTheLastModelIsReported() async {
        let llm = FallbackLLM(
            AbsentLLM(availability: .unavailable(.apiKeyMissing)), AbsentLLM(availability: .unavailable(.notEnabled)))
        #expect(await llm.availability == .unavailable(.apiKeyMissing))
        await #expect(throws: LLMError.unavailable(.notEnabled)) { try await llm.reply(to: "Hi") }
        await #expect(throws: LLMError.self) { try await FallbackLLM().reply(to: "Hi") }
    }
}
