import ChatterClient
import ChatterdTestSupport
import Testing

@testable import ChatterModels

/// The executor of chatterd: what it sends of a transcript.
@Suite(.timeLimit(.minutes(30))) struct ChatterdTests {
    private func steps(_ id: String, _ lines: String...) -> [UpstreamStep] {
        [
            .head(
                200,
                [
                    ("Content-Type", "text/event-stream"), ("Location", "/replies/\(id)"),
                    ("Transfer-Encoding", "chunked"),
                ])
        ]
            + lines.enumerated().map { .chunk("id: \($0.offset)\ndata: \($0.element)\n\n") }
            + [
                .chunk(
                    "id: 9-end\ndata: {\"model\":\"m1\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":5}\n\n"
                ), .endChunks,
            ]
    }

    private func text(_ text: String) -> String { #"{"message":{"content":"\#(text)"},"done":false}"# }

    private func llm(_ server: ScriptedUpstream, conversation: String? = nil) throws -> ChatterdLLM {
        ChatterdLLM(
            client: try ChatterClient(url: server.url, credential: .app("tests")), model: "m",
            conversation: conversation)
    }

    @Test func onlyNewMessagesAreSent() async throws {
        let server = try ScriptedUpstream(steps("r1", text("Hello Alice!")), steps("r2", text("Alice.")))
        let session = try llm(server).makeSession { "Be polite." }
        _ = try await session.reply(to: "My name is Alice")
        let reply = try await session.reply(to: "What's my name?")
        #expect(
            reply.content == "Alice." && reply.usage == Usage(promptTokens: 3, answerTokens: 5) && reply.model == "m1")
        let (first, second) = (server.requests[0], server.requests[1])
        #expect(first.messages == [["system", "Be polite."], ["user", "My name is Alice"]])
        #expect(second.messages == [["user", "What's my name?"]])
        #expect(first.json["parent"] == nil && second.json["parent"] as? String == "r1")
        let name = try #require(first.json["conversation"] as? String)
        #expect(name.count == 16 && second.json["conversation"] as? String == name)
    }

    @Test func failedPromptIsFollowedFromTheReplyBeforeIt() async throws {
        let server = try ScriptedUpstream(
            steps("r1", text("One")), .plain(429, #"{"error":"Busy.","code":"rate_limited"}"#), steps("r2", text("Two"))
        )
        let session = try llm(server, conversation: "trip/1").makeSession()
        _ = try await session.reply(to: "1")
        await #expect(throws: LLMError.rateLimited("Busy.", retryAfter: nil)) { try await session.reply(to: "2") }
        _ = try await session.reply(to: "2")
        #expect(server.requests.map { $0.json["parent"] as? String } == [nil, "r1", "r1"])
        #expect(server.requests.map { $0.json["conversation"] as? String } == ["trip/1", "trip/1", "trip/1"])
    }

    @Test func transcriptOfAnotherModelIsSentWhole() async throws {
        let server = try ScriptedUpstream(steps("r1", text("Yes")))
        let messages: [ChatterModels.Message] = [
            .user("Weather?"), .ai(AIMessage("", toolCalls: [ToolCall(id: "c", toolName: "f", arguments: ["a": 1])])),
            .toolOutput(ToolOutput(id: "c", toolName: "f", "Sun")), .ai("Sunny."),
        ]
        _ = try await llm(server).makeSession(messages: messages).reply(to: "Sure?")
        let body = String(decoding: server.requests[0].body, as: UTF8.self)
        #expect(
            body.contains(
                #""messages":[{"content":"Weather?","role":"user"},{"content":"","role":"assistant","tool_calls":[{"function":{"arguments":{"a":1},"name":"f"},"id":"c"}]},{"content":"Sun","role":"tool","tool_call_id":"c","tool_name":"f"},{"content":"Sunny.","role":"assistant"},{"content":"Sure?","role":"user"}]"#
            ))
    }

    @Test func toolsOptionsAndSchemaAreMembersOfThePrompt() async throws {
        let call =
            #"{"message":{"content":"","tool_calls":[{"id":"c1","function":{"name":"WeatherTool","arguments":{"location":"Rome"}}}]},"done":false}"#
        let json = #"{\"temperature\":72,\"conditions\":\"sunny\",\"location\":\"Rome\"}"#
        let server = try ScriptedUpstream(
            steps("r1", call), steps("r2", text("Sunny.")), steps("r3", text(json)))
        let session = try llm(server).makeSession(tools: [WeatherTool()])
        let options = LLMReplyOptions(
            maximumTokens: 5, topK: 40, seed: 7, backendOptions: [StructuredContent.Member("keep_alive", "5m")])
        let report = try await session.reply(to: "Weather?", returning: WeatherReport.self, options: options)
        #expect(report.content.temperature == 72)
        let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies[0].contains(#""name":"WeatherTool""#))
        #expect(bodies[0].contains(#""options":{"top_k":40,"seed":7,"num_predict":5}"#))
        #expect(bodies[0].contains(#""keep_alive":"5m""#) && !bodies[0].contains(#""format""#))
        #expect(server.requests[1].messages == [["tool", "72°F, sunny in Rome"]])
        // The members of the schema are in the order in which they are declared.
        #expect(
            bodies[2].contains(#""format":"# + WeatherReport.schema.jsonSchema().json)
                && !bodies[2].contains(#""tools""#))
        #expect(server.requests.map { $0.json["parent"] as? String } == [nil, "r1", "r2"])
    }

    @Test func cancelledReplyIsStoppedOnTheServer() async throws {
        let begun = Gate()
        let head = [
            ("Content-Type", "text/event-stream"), ("Location", "/replies/r1"), ("Transfer-Encoding", "chunked"),
        ]
        let server = try ScriptedUpstream { request in
            guard request.method == "POST" else { return .plain(200, #"{"state":"cancelled"}"#) }
            return [.head(200, head), .chunk("id: 1\ndata: \(text("Half"))\n\n"), .open(begun), .stall]
        }
        let session = try llm(server).makeSession()
        let task = Task { try await session.reply(to: "Hi") }
        _ = try await blocking { begun.wait() }
        task.cancel()
        await #expect(throws: LLMError.cancelled) { try await task.value }
        let requests = try await blocking { try server.waitForRequests(2) }
        #expect(requests[1].method == "DELETE" && requests[1].path == "/replies/r1")
    }

    @Test func serverIsToldWhatBecomesOfAnAnswerWithoutReader() async throws {
        let server = try ScriptedUpstream(steps("r1", text("A")), steps("r2", text("B")), steps("r3", text("C")))
        let client = try ChatterClient(url: server.url, credential: .app("tests"))
        _ = try await ChatterdLLM(client: client).makeSession().reply(to: "Hi")
        let llm = ChatterdLLM(client: client, onDisconnect: .cancel, onInterrupt: .regenerate)
        _ = try await llm.makeSession().reply(to: "Hi")
        let option = StructuredContent.Member("on_disconnect", "finish")
        _ = try await llm.makeSession().reply(to: "Hi", options: LLMReplyOptions(backendOptions: [option]))
        #expect(server.requests[0].json["on_disconnect"] as? Int == 120)
        #expect(server.requests.dropFirst().map { $0.json["on_disconnect"] as? String } == ["cancel", "finish"])
        #expect(
            server.requests.map { $0.json["on_interrupt"] as? String } == ["close", "regenerate", "regenerate"])
    }

    @Test func queueAndLostConnectionsAreEvents() async throws {
        let head = [
            ("Content-Type", "text/event-stream"), ("Location", "/replies/r1"), ("Transfer-Encoding", "chunked"),
        ]
        let queue = #"{"queue":{"upstream":"a","position":2,"length":3}}"#
        let beginning: [UpstreamStep] = [
            .head(200, head), .chunk("event: queue\ndata: \(queue)\n\nid: 1\ndata: \(text("Hel"))\n\n"), .close,
        ]
        let server = try ScriptedUpstream(probing: { _ in steps("r1", text("lo")) }, { _ in beginning })
        let client = try ChatterClient(
            url: server.url, credential: .app("tests"), retries: RetryPolicy(first: .milliseconds(1)))
        var events: [String] = []
        for try await event in ChatterdLLM(client: client).makeSession().events(replyingTo: "Hi") {
            switch event {
            case .waiting(.queued(let position, let length)): events.append("\(position) of \(length)")
            case .waiting(.connectionLost): events.append("lost")
            case .waiting(.resumed): events.append("resumed")
            case .textDelta(let text): events.append(text)
            default: break
            }
        }
        #expect(events == ["2 of 3", "Hel", "lost", "resumed", "lo"])
    }

    @Test func endOfTheModelServerReachesTheApp() async throws {
        func end(_ members: String) -> [UpstreamStep] {
            steps("r", #"{"message":{"content":"No."},"done":true,"done_reason":"stop",\#(members)}"#)
        }
        let server = try ScriptedUpstream(
            end(#""finish_reason":"content_filter""#), end(#""finish_reason":"other""#), end(#""refusal":true"#))
        let llm = try llm(server, conversation: "c")
        #expect(try await llm.reply(to: "Hi").reason == .contentFilter)
        #expect(try await llm.reply(to: "Hi").reason == GenerationEnd.Reason(rawValue: "other"))
        await #expect(throws: LLMError.refused("No.")) { try await llm.reply(to: "Hi") }
    }

    @Test func conversationOfASingleCallIsDeleted() async throws {
        let server = try ScriptedUpstream(
            steps("r1", text("Hi")), .plain(200, "{}"), steps("r2", text("Hi")))
        _ = try await llm(server).reply(to: "Hello")
        _ = try await llm(server, conversation: "mine").reply(to: "Hello")
        #expect(server.requests.map(\.method) == ["POST", "DELETE", "POST"])
        let name = server.requests[0].json["conversation"] as? String
        #expect(server.requests[1].path == "/conversations/\(name ?? "")")
    }

    @Test func restartedReplyHasItsNewTextOnly() async throws {
        let reset = #"{"reset":true,"message":{"content":""},"done":false}"#
        let server = try ScriptedUpstream([
            .head(
                200,
                [("Content-Type", "text/event-stream"), ("Location", "/replies/a"), ("Transfer-Encoding", "chunked")]),
            .chunk("id: 1\ndata: \(text("Half"))\n\nid: 2\nevent: reset\ndata: \(reset)\n\n"),
            .chunk("id: 3\ndata: \(text("New"))\n\nid: 3-end\ndata: {\"done\":true}\n\n"), .endChunks,
        ])
        #expect(try await llm(server).makeSession().reply(to: "Hi").content == "New")
    }

    @Test(arguments: ["other/a", "chatterd:a", "call_1"]) func idOfAnotherServerIsNoPlace(_ id: String) {
        #expect(ChatterdPlace(text: id) == nil)
    }

    @Test func modelsOfTheServerDecideTheAvailability() async throws {
        let server = try ScriptedUpstream(
            probing: { _ in .plain(200, #"{"models":[{"name":"m","upstreams":["a"]}],"upstreams":[]}"#) }, { _ in [] })
        #expect(await (try llm(server)).isAvailable)
        let client = try ChatterClient(url: server.url, credential: .app("tests"))
        #expect(await ChatterdLLM(client: client, model: "n").availability == .unavailable(.modelNotFound))
        #expect(await ChatterdLLM(client: client).isAvailable)
    }
}
