import ChatterClient
import ChatterModels
import ChatterdTestSupport
import Testing

/// Both libraries with the real server and its built-in model.
@Suite(.timeLimit(.minutes(30))) struct RealServerTests {
    private struct EchoTool: Tool {
        let name = "report"
        let description = "Repeats its argument"

        struct Arguments: Generable {
            let text: String

            static let schema = Schema.object("Arguments") {
                Property("text", String.self)
            }

            init(from content: StructuredContent) throws {
                text = try content.member("text")
            }

            var generableContent: StructuredContent { ["text": .string(text)] }
        }

        func call(arguments: Arguments) async throws -> String { arguments.text }
    }

    private struct Report: Generable, Hashable {
        let temperature: Int

        static let schema = Schema.object("Report") {
            Property("temperature", Int.self, .range(-100...100))
        }

        init(from content: StructuredContent) throws {
            temperature = try content.member("temperature")
        }

        var generableContent: StructuredContent { ["temperature": .integer(temperature)] }
    }

    @Test func endOfEachAnswerIsTheStoredText() async throws {
        let server = try await blocking { try LibraryServer() }
        let client = try server.client()
        let name = Conversation.randomName()
        var last = Answer()
        for try await answer in client.snapshots(of: Prompt("Grüße aus Rom", in: name, model: "echo")) {
            #expect(answer.text.hasPrefix(last.text))
            last = answer
        }
        let id = try #require(last.reply)
        let stored = try await client.reply(id)
        #expect(stored.message.content == last.text && last.text.contains("Grüße aus Rom") && last.isFinished)
        // An answer that was stored before its end continues.
        var rest = Answer(to: id)
        for try await answer in client.snapshots(continuing: rest) { rest = answer }
        #expect(rest.text == last.text)

        var other: ReplyID?
        for try await event in client.regenerate(id) {
            if case .started(let id) = event { other = id }
        }
        #expect(other != nil && other != id)
        try await client.choose(id)
        #expect(try await client.messages(of: name).messages.filter(\.active).last?.id == id)
        try await client.post("Hello, board", as: "ada")
        #expect(try await client.boardMessages().last?.text == "Hello, board")
        #expect(try await client.models().models.contains { $0.name == "echo" })
    }

    @Test func sessionContinuesWhereItsTranscriptEnds() async throws {
        let server = try await blocking { try LibraryServer() }
        let llm = ChatterdLLM(client: try server.client(), model: "echo")
        #expect(await llm.isAvailable)
        let session = llm.makeSession { "Be polite." }
        _ = try await session.reply(to: "one")
        let middle = await session.transcript
        let second = try await session.reply(to: "what did I say").content
        #expect(second.contains("one"))
        _ = try await session.reply(to: "three")
        // A restored session goes its own way from its transcript on.
        let restored = Session(model: llm, transcript: middle)
        _ = try await restored.reply(to: "two")
        #expect(try await restored.reply(to: "what did I say").content.contains("two"))
        #expect(try await session.reply(to: "what did I say").content.contains("three"))
    }

    @Test func toolsWorkThroughTheServer() async throws {
        let server = try await blocking { try LibraryServer() }
        let llm = ChatterdLLM(client: try server.client(), model: "echo:tool")
        let reply = try await llm.reply(to: "Rome", tools: [EchoTool()])
        #expect(reply.content == "The tool returned: Rome")
        #expect(reply.history.map(\.role) == [.user, .ai, .toolOutput, .ai])
        // The conversation of a single call is deleted.
        #expect(try await server.client().conversations().conversations.isEmpty)
    }

    @Test func typedAnswersWorkThroughTheServer() async throws {
        let upstream = try ScriptedUpstream(
            .lines([
                #"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"report","arguments":{"text":"22"}}}]},"done":false}\#n"#,
                #"{"model":"m","message":{"content":""},"done":true,"done_reason":"stop"}\#n"#,
            ]), .answer(["It has ", "22 degrees."]), .answer([#"{"temper"#, #"ature":22}"#]))
        let server = try await blocking { try LibraryServer(["OLLAMA_URL": upstream.url]) }
        let session = ChatterdLLM(client: try server.client(), model: "m").makeSession(tools: [EchoTool()])
        let reply = try await session.reply(to: "Weather?", returning: Report.self)
        #expect(reply.content.temperature == 22)
        let requests = upstream.requests
        #expect(
            requests.last?.messages == [
                ["user", "Weather?"], ["assistant", ""], ["tool", "22"], ["assistant", "It has 22 degrees."],
                ["user", "Give this answer as JSON in the requested form."],
            ])
        #expect(requests.map { $0.json["format"] == nil } == [true, true, false])
        #expect(requests.map { $0.json["tools"] == nil } == [false, false, true])
    }

    @Test func errorsOfTheServerKeepTheirMeaning() async throws {
        let server = try await blocking { try LibraryServer() }
        let client = try server.client()
        for (model, isExpected) in [
            ("echo:context", { if case .contextTooLong = $0 { true } else { false } }),
            ("echo:refuse", { if case .rejected = $0 { true } else { false } }),
            ("echo:cut", { if case .failed = $0 { true } else { false } }),
        ] as [(String, (LLMError) -> Bool)] {
            let session = ChatterdLLM(client: client, model: model).makeSession()
            let error = await #expect(throws: LLMError.self) { try await session.reply(to: "Hi there you") }
            #expect(error.map(isExpected) == true, "\(model): \(String(describing: error))")
            #expect(await session.messages.isEmpty)
        }
    }
}
