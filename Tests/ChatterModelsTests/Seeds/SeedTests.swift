import ChatterModels
import Testing

/// The examples of the proposal, with any model.
@Suite(.timeLimit(.minutes(30))) struct SeedTests {
    @Test func modelIsChosenByAvailability() async throws {
        let system = try OpenAILLM(model: "gpt-4.1")
        let llm: any LLM = await system.isAvailable ? system : EchoLLM()
        let response = try await llm.reply(to: "Write a haiku about Berlin.")
        #expect(response.content == "Write a haiku about Berlin.")
    }

    @Test func paperIsExtracted() async throws {
        let llm: any LLM = EchoLLM()
        let text = #"{"title":"Attention","authors":"V. et al.","abstract":"…","keywords":["attention"]}"#
        let response = try await llm.reply(to: text, returning: ResearchPaper.self)
        #expect(response.content.keywords == ["attention"])
        await #expect(throws: LLMError.self) {
            try await llm.reply(
                to: #"{"title":"Attention","authors":"V.","abstract":"…","keywords":[]}"#, returning: ResearchPaper.self
            )
        }
    }

    @Test func reportIsMadeWithATool() async throws {
        let call = ToolCall(id: "1", toolName: "WeatherTool", arguments: ["location": "San Francisco"])
        let llm: any LLM = ScriptedLLM(
            .calls(call), .text(#"{"temperature":72,"conditions":"sunny","location":"San Francisco"}"#))
        let report = try await llm.reply(
            to: "What's the weather like in San Francisco?", returning: WeatherReport.self, tools: [WeatherTool()])
        #expect(report.content.location == "San Francisco")
        #expect(report.history.map(\.role) == [.user, .ai, .toolOutput, .ai])
    }

    @Test func nameIsRemembered() async throws {
        let llm = ScriptedLLM(.text("Hello Alice!"), .text("Your name is Alice."))
        let thread = llm.makeSession {
            "You are a helpful assistant. Always be polite."
        }
        _ = try await llm.reply(to: "Hello, my name is Alice", in: thread)
        let followUp = try await llm.reply(to: "What's my name?", in: thread)
        #expect(followUp.content == "Your name is Alice.")
    }

    @Test func conversationIsAListOfMessages() async throws {
        let conversation: [Message] = [
            .system("You are a helpful assistant"), .user("What's the capital of France?"),
            .ai("The capital of France is Paris."), .user("And of Spain?"),
        ]
        #expect(conversation.map(\.role) == [.system, .user, .ai, .user])
        #expect(try await EchoLLM().reply(to: conversation).content == "And of Spain?")
    }

    @Test func promptIsPutTogether() async throws {
        let isPolite = true
        let reply = try await EchoLLM().reply {
            "Hello"
            if isPolite { "please" }
            for number in 1...2 { "\(number)" }
            if isPolite { "yes" } else { "no" }
        }
        #expect(reply.content == "Hello\nplease\n1\n2\nyes")
    }
}
