import ChatterModels
import ChatterdBasics
import Testing

@testable import ChatterFoundationModels

/// The model of the device, with a device that is written down.
@Suite(.timeLimit(.minutes(30))) struct SystemModelTests {
    /// A model of a device that reports these steps for each request, and then perhaps fails.
    private func model(
        _ steps: [SystemStep]..., failing error: (any Error)? = nil, requests: Lock<[ProviderRequest]> = Lock([])
    ) -> SystemLLM {
        SystemLLM(
            SystemDevice(
                availability: { .available },
                answer: { request, report in
                    let number = requests.withLock {
                        $0.append(request)
                        return $0.count - 1
                    }
                    steps[min(number, steps.count - 1)].forEach(report)
                    if let error { throw error }
                }))
    }

    private struct WeatherTool: Tool {
        let description = "Get current weather for a location"

        struct Arguments: Codable, Generable {
            let location: String

            static let schema = Schema.object("Arguments") { Property("location", String.self) }
        }

        func call(arguments: Arguments) async throws -> String { "sunny in \(arguments.location)" }
    }

    @Test func modelThatIsMissingIsUnavailableAndTheNextOneAnswers() async throws {
        let absent = SystemLLM(.absent)
        #expect(!absent.isAvailable && absent.availability == .unavailable(.deviceNotSupported))
        await #expect(throws: LLMError.unavailable(.deviceNotSupported)) { try await absent.reply(to: "Hi") }
        #expect(try await FallbackLLM(absent, EchoLLM()).reply(to: "Hi").content == "Hi")
        #expect(try await FallbackLLM([model([.text("Hello")]), EchoLLM()]).reply(to: "Hi").content == "Hello")
    }

    @Test func textsSoFarBecomePieces() async throws {
        var texts: [String] = []
        for try await text in model([.text("Grey"), .text("Grey"), .text("Grey river 🌊")]).replyStream(to: "Haiku") {
            texts.append(text)
        }
        #expect(texts == ["Grey", "Grey river 🌊"])
        var course = SystemCourse()
        #expect(course.events(after: .text("Gray river")) == [.text("Gray river")])
        #expect(course.events(after: .text("Grey")) == [.reset, .text("Grey")])
        #expect(course.end == .finished(GenerationEnd(reason: .stop, model: "system")))
    }

    @Test func sessionRunsTheToolsOfTheModel() async throws {
        let requests = Lock<[ProviderRequest]>([])
        let call = ToolCall(id: "c", toolName: "WeatherTool", arguments: ["location": "Rome"])
        let llm = model([.toolCall(call)], [.text("It is sunny.")], requests: requests)
        let session = llm.makeSession(tools: [WeatherTool()]) { "Be polite." }
        #expect(try await session.reply(to: "Weather?").content == "It is sunny.")
        let last = try #require(requests.withLock { $0.last })
        let outputs: [ProviderEntry] = [
            .instructions("Be polite."), .prompt("Weather?"), .toolCalls([call]),
            .toolOutput(id: "c", toolName: "WeatherTool", text: "sunny in Rome"),
        ]
        #expect(last.entries == outputs && last.lastPrompt == (outputs, ProviderRequest.continuation))
        #expect(requests.withLock { $0.first?.lastPrompt.text } == "Weather?")
    }

    @Test func requestIsTheReverseOfThatOfAnExecutor() throws {
        let form = Schema.object("Trip", description: "A journey") {
            Property("city", String.self, description: "In English", .pattern("^[A-Z]"))
            Property("properties", [Int].self, .count(1...3), .element(.range(0...9)))
            Property("price", Double?.self, .maximum(0.5))
        }
        let call = ToolCall(id: "c", toolName: "f", arguments: ["a": 1])
        let request = GenerationRequest(
            transcript: [
                .system("Be polite."), .user("Weather?"), .ai(AIMessage("", toolCalls: [call], reasoning: "hm")),
                .toolOutput(ToolOutput(id: "c", toolName: "f", "Sun")), .ai(AIMessage("Sunny.", id: "r1")),
                .user("Sure?"),
            ], tools: [ToolDescription(name: "f", description: "d", parameters: form)], schema: form,
            options: LLMReplyOptions(temperature: 0.5))
        let copy = try GenerationRequest(ProviderRequest(request))
        #expect(copy.transcript == request.transcript && copy.tools == request.tools && copy.schema == form)
        #expect(copy.options == request.options)
        let written = try #require(try ProviderRequest(request).schema)
        #expect(written.hasSuffix(#""x-order":["city","properties","price"]}"#))
        #expect(!written.dropLast(50).contains("x-order"))
    }

    @Test func modelWithToolsHasInstructions() throws {
        let tool = ToolDescription(name: "f", description: "d", parameters: .object("A") {})
        let request = GenerationRequest(transcript: [.user("Hi")], tools: [tool])
        #expect(try ProviderRequest(request).entries == [.instructions(""), .prompt("Hi")])
    }

    @Test func imageIsRejected() async {
        let prompt = Prompt(chunks: [.text("What is this?"), .image(ImageContent(base64: "AAAA"))])
        let error = await #expect(throws: LLMError.self) { try await model([.text("A cat")]).reply(to: prompt) }
        #expect(error == .rejected("The model of this device reads no images."))
    }

    @Test func errorsOfTheDeviceKeepTheirMeaning() async {
        for (error, expected) in [
            (ProviderError.contextSizeExceeded("long"), .contextTooLong("long")),
            (ProviderError.guardrailViolation("no"), .refused("no")), (ProviderError.refusal("no"), .refused("no")),
            (ProviderError.rateLimited("slow", retryAfter: nil), .rateLimited("slow", retryAfter: nil)),
            (ProviderError.cancelled, .cancelled), (ProviderError.other(.failed("x")), .failed("x")),
            (CancellationError(), .cancelled), (LLMError.rejected("form"), .rejected("form")),
        ] as [(any Error, LLMError)] {
            await #expect(throws: expected) { try await model([.text("He")], failing: error).reply(to: "Hi") }
        }
    }

    @Test func deviceIsCancelledWhenTheReaderLeaves() async throws {
        let (left, continuation) = AsyncStream.makeStream(of: Void.self)
        let (never, holder) = AsyncStream.makeStream(of: Void.self)
        let device = SystemDevice(
            availability: { .available },
            answer: { _, report in
                report(.text("Hello"))
                // It ends when the task is cancelled.
                for await _ in never {}
                continuation.finish()
            })
        for try await _ in SystemLLM(device).events(for: GenerationRequest(transcript: [.user("Hi")])) { break }
        for await _ in left {}
        holder.finish()
    }
}
