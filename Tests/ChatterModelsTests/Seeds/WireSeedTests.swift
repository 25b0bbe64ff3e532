import ChatterModels
import ChatterdTestSupport
import Testing

/// The examples of the proposal, with a scripted server of each kind.
@Suite(.timeLimit(.minutes(30))) struct WireSeedTests {
    private func server(_ peer: WirePeer, _ answers: [String]...) throws -> ScriptedUpstream {
        try ScriptedUpstream { peer.steps(answers[min($0.number, answers.count - 1)]) }
    }

    @Test(arguments: WirePeer.allCases) func haikuGrows(_ peer: WirePeer) async throws {
        let server = try server(peer, peer.answer(["Grey river", " at dusk"]))
        var texts: [String] = []
        for try await text in try peer.llm(url: server.url).replyStream(to: "Write a haiku about Berlin.") {
            texts.append(text)
        }
        #expect(texts == ["Grey river", "Grey river at dusk"])
    }

    @Test(arguments: WirePeer.allCases) func paperIsExtracted(_ peer: WirePeer) async throws {
        let json = #"{"title":"Attention","authors":"V. et al.","abstract":"…","keywords":["heads"]}"#
        let server = try server(peer, peer.answer([json]), peer.answer([#"{"title":"Attention"}"#]))
        let llm = try peer.llm(url: server.url)
        #expect(try await llm.reply(to: "Extract …", returning: ResearchPaper.self).content.keywords == ["heads"])
        await #expect(throws: LLMError.self) { try await llm.reply(to: "Extract …", returning: ResearchPaper.self) }
    }

    @Test(arguments: WirePeer.allCases) func reportIsMadeWithATool(_ peer: WirePeer) async throws {
        let json = #"{"temperature":72,"conditions":"sunny","location":"Rome"}"#
        let server = try server(peer, peer.call, peer.answer([json]))
        let report = try await peer.llm(url: server.url).reply(
            to: "What's the weather like in Rome?", returning: WeatherReport.self, tools: [WeatherTool()])
        #expect(report.content == (try WeatherReport(checking: StructuredContent(json: json))))
        #expect(report.history.map(\.role) == [.user, .ai, .toolOutput, .ai])
    }

    @Test(arguments: WirePeer.allCases) func nameIsRemembered(_ peer: WirePeer) async throws {
        let server = try server(peer, peer.answer(["Hello Alice!"]), peer.answer(["Alice."]))
        let session = try peer.llm(url: server.url).makeSession { "You are a helpful assistant. Always be polite." }
        _ = try await session.reply(to: "Hello, my name is Alice")
        #expect(try await session.reply(to: "What's my name?").content == "Alice.")
        let body = String(decoding: try #require(server.requests.last).body, as: UTF8.self)
        for text in ["Always be polite.", "my name is Alice", "Hello Alice!", "What's my name?"] {
            #expect(body.contains(text))
        }
    }

    @Test(arguments: WirePeer.allCases) func userHasTheFormOfTheConstraints(_ peer: WirePeer) async throws {
        let wrong = #"{"name":"1x","age":17,"favoriteColors":["pink"]}"#
        let server = try server(peer, peer.answer([wrong]))
        let error = await #expect(throws: LLMError.self) {
            try await peer.llm(url: server.url).reply(to: "Make a user", returning: User.self)
        }
        guard case .schemaViolation(let violations, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(violations.map(\.path) == ["$.name", "$.age", "$.favoriteColors[0]"])
    }
}
