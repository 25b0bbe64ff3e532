import ChatterModels
import ChatterdTestSupport
import Testing

/// What each kind of model server must do, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct ExecutorTests {
    @Test(arguments: WirePeer.allCases) func textArrivesWithItsEnd(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(peer.steps(peer.answer(["Hé", "llo", " \n\"[DONE]\""])))
        let reply = try await peer.llm(url: server.url).reply(to: "Hi")
        #expect(reply.content == "Héllo \n\"[DONE]\"")
        #expect(reply.reason == .stop && reply.usage == Usage(promptTokens: 5, answerTokens: 7))
        #expect(reply.model == (peer == .llamaStack ? nil : "m1"))
        #expect(server.requests.count == 1)
    }

    /// The server sends each piece after the one before has been shown.
    @Test(arguments: WirePeer.allCases) func eachPieceArrivesBeforeTheNextIsSent(_ peer: WirePeer) async throws {
        let gates = (0..<5).map { _ in Gate() }
        let pieces = peer.answer(gates.indices.map { "\($0)" })
        var steps = peer.steps([], end: [])
        var texts = 0
        for piece in pieces {
            steps.append(.chunk(piece))
            if texts < gates.count, piece.contains("\"\(texts)\"") {
                steps.append(.wait(for: gates[texts]))
                texts += 1
            }
        }
        #expect(texts == gates.count)
        let server = try ScriptedUpstream(steps + [.endChunks])
        var shown = ""
        for try await text in try peer.llm(url: server.url).replyStream(to: "Hi") {
            #expect(text == shown + "\(shown.count)")
            gates[shown.count].open()
            shown = text
        }
        #expect(shown == "01234")
    }

    @Test(arguments: WirePeer.allCases.filter { $0 != .llamaStack }) func thinkingIsKeptApart(
        _ peer: WirePeer
    ) async throws {
        let server = try ScriptedUpstream(peer.steps(peer.answer(["Yes"], thinking: "hm")))
        let reply = try await peer.llm(url: server.url).reply(to: "Hi")
        guard case .ai(let message)? = reply.history.last else { throw LLMError.failed("no message") }
        #expect(message.reasoning == "hm" && message.text == "Yes")
    }

    @Test(arguments: WirePeer.allCases) func toolIsCalledAndItsOutputSent(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(peer.steps(peer.call), peer.steps(peer.answer(["Sunny"])))
        let reply = try await peer.llm(url: server.url).reply(to: "Weather?", tools: [WeatherTool()])
        #expect(reply.content == "Sunny")
        #expect(reply.history.map(\.text) == ["Weather?", "", "72°F, sunny in Rome", "Sunny"])
        let body = String(decoding: try #require(server.requests.last).body, as: UTF8.self)
        #expect(body.contains("72°F, sunny in Rome") && body.contains("WeatherTool") && body.contains("c1"))
    }

    @Test(arguments: WirePeer.allCases) func valueIsAskedForWithItsSchema(_ peer: WirePeer) async throws {
        let json = #"{"name":"ada_1","age":null,"favoriteColors":["red"]}"#
        let server = try ScriptedUpstream(peer.steps(peer.answer([String(json.prefix(9)), String(json.dropFirst(9))])))
        let user = try await peer.llm(url: server.url).reply(to: "Who?", returning: User.self).content
        #expect(user.name == "ada_1" && user.age == nil)
        let body = String(decoding: try #require(server.requests.first).body, as: UTF8.self)
        #expect(body.contains(#""enum":["red","green","blue"]"#) && body.contains(#""maxItems":3"#))
    }

    @Test(arguments: WirePeer.allCases) func reportedFailureIsAnError(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(peer.steps([peer.answer(["Hi"])[0], peer.failure]))
        await #expect(throws: LLMError.failed("out of memory")) {
            try await peer.llm(url: server.url).reply(to: "Hi")
        }
    }

    @Test(arguments: WirePeer.allCases) func answerWithoutItsEndIsAnError(_ peer: WirePeer) async throws {
        let pieces = peer.answer(["Hi", "Ho"])
        let cut = pieces.prefix(2)
        let server = try ScriptedUpstream(
            peer.steps(Array(cut)), peer.steps(Array(cut), end: [.close]), peer.steps(Array(cut), end: [.reset]))
        for _ in 0..<3 {
            let error = await #expect(throws: LLMError.self) { try await peer.llm(url: server.url).reply(to: "Hi") }
            guard case .connectionLost? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: WirePeer.allCases) func limitOfTokensIsReported(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(peer.steps(peer.answer(["Hi"], reason: "length")))
        let options = LLMReplyOptions(temperature: 0.5, maximumTokens: 1, samplingMode: .topP(0.9))
        #expect(try await peer.llm(url: server.url).reply(to: "Hi", options: options).reason == .length)
        let body = String(decoding: try #require(server.requests.first).body, as: UTF8.self)
        #expect(body.contains("0.5") && body.contains("0.9"))
    }

    @Test(arguments: WirePeer.allCases) func statusOfARefusalDecidesTheError(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(
            .plain(401, #"{"error":"Unauthorized"}"#), .plain(404, #"{"error":{"message":"no model"}}"#),
            .plain(429, #"{"error":{"message":"slow down"}}"#, fields: [("Retry-After", "7")]),
            .plain(400, #"{"error":{"message":"The context length is 4096 tokens."}}"#),
            .plain(400, #"{"detail":"wrong"}"#), .plain(500, "<html>"))
        let llm = try peer.llm(url: server.url, key: "k")
        for expected: LLMError in [
            .unauthorized("Unauthorized"), .unavailable(.modelNotFound),
            .rateLimited("slow down", retryAfter: .seconds(7)),
            .contextTooLong("The context length is 4096 tokens."), .rejected("wrong"),
            .failed("The model's server answered with the status 500."),
        ] {
            await #expect(throws: expected) { try await llm.reply(to: "Hi") }
        }
        #expect(server.requests.first?["Authorization"] == "Bearer k")
    }

    @Test(arguments: WirePeer.allCases) func readerWhoLeavesClosesTheConnection(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(peer.steps(Array(peer.answer(["Hi", "Ho"]).prefix(3)), end: [.stall]))
        for try await _ in try peer.llm(url: server.url).replyStream(to: "Hi") { break }
        let request = try #require(server.requests.first)
        try await blocking { _ = try server.waitForClose(of: request) }
    }

    @Test func fiftyAnswersAtOnceAreWhole() async throws {
        let peer = WirePeer.ollama
        let server = try ScriptedUpstream { request in
            let name = request.json["messages"].map { "\($0)".filter(\.isNumber) } ?? ""
            return peer.steps(peer.answer(["Number ", name]))
        }
        let llm = try peer.llm(url: server.url)
        let answers = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for number in 0..<50 {
                group.addTask { (number, try await llm.reply(to: "\(number)").content) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        #expect(answers == Dictionary(uniqueKeysWithValues: (0..<50).map { ($0, "Number \($0)") }))
    }

    @Test(arguments: [WirePeer.ollama, .openAI]) func endOfAServerReachesTheApp(_ peer: WirePeer) async throws {
        let server = try ScriptedUpstream(
            peer.steps(peer.answer(["Hi"], reason: "length")),
            peer.steps(peer.answer(["Hi"], reason: "content_filter")),
            peer.steps(peer.answer(["Hi"], reason: "insufficient_system_resource")),
            peer.steps(peer.answer([#"{"value":1}"#], reason: "eos_token")),
            peer.steps(peer.answer([#"{"value":1}"#], reason: "content_filter")))
        let llm = try peer.llm(url: server.url)
        #expect(try await llm.reply(to: "Hi").reason == .length)
        #expect(try await llm.reply(to: "Hi").reason == .contentFilter)
        #expect(try await llm.reply(to: "Hi").reason.rawValue == "insufficient_system_resource")
        #expect(try await llm.reply(to: "Hi", returning: Int.self).content == 1)
        await #expect(throws: LLMError.incomplete(.contentFilter)) {
            try await llm.reply(to: "Hi", returning: Int.self)
        }
    }

    @Test func serverThatDoesNotAnswerIsUnavailable() async throws {
        // Nothing listens at the port of a server that has gone.
        let server = try ScriptedUpstream([])
        let url = server.url
        server.stop()
        for peer in WirePeer.allCases {
            guard case .unavailable(.unreachable) = await (try peer.llm(url: url)).availability else {
                Issue.record("\(peer)")
                continue
            }
        }
        #expect(await (try OpenAILLM(model: "gpt")).availability == .unavailable(.apiKeyMissing))
    }

    @Test func listOfModelsDecidesTheAvailability() async throws {
        let server = try ScriptedUpstream(
            probing: { request in
                .plain(
                    200,
                    request.path == "/api/tags"
                        ? #"{"models":[{"name":"m:latest"}]}"# : #"{"data":[{"identifier":"m"}]}"#)
            }, { _ in [] })
        #expect(await (try OllamaLLM(model: "m", url: server.url)).isAvailable)
        #expect(await (try OllamaLLM(model: "n", url: server.url)).availability == .unavailable(.modelNotFound))
        #expect(await (try OpenAILLM(model: "n", url: server.url)).isAvailable)
        #expect(await (try LlamaStackLLM(model: "n", url: server.url)).availability == .unavailable(.modelNotFound))
    }

    @Test func addressMayHaveThePathOfItsEndpoint() async throws {
        let server = try ScriptedUpstream(WirePeer.openAI.steps(WirePeer.openAI.answer(["Hi"])))
        for ending in ["", "/", "/v1", "/v1/", "/v1/chat/completions"] {
            _ = try await OpenAILLM(model: "m", url: server.url + ending).reply(to: "Hi")
        }
        _ = try await OpenAILLM(model: "m", url: server.url + "/proxy/v1").reply(to: "Hi")
        #expect(Set(server.requests.dropLast().map(\.path)) == ["/v1/chat/completions"])
        #expect(server.requests.last?.path == "/proxy/v1/chat/completions")
        #expect(throws: LLMError.self) { try OpenAILLM(model: "m", url: "localhost") }
    }
}
