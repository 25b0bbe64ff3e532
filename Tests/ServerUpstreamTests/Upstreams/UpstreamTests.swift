import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Answers of model servers that the matrix does not test in detail.
@Suite(.timeLimit(.minutes(30))) struct UpstreamTests {
    @Test func textThatIsNotUTF8IsStreamedAndStoredAlike() async throws {
        let prefix = Array(
            "{\"model\":\"tiny\",\"created_at\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":\"".utf8)
        let broken: [[UInt8]] = [
            [0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0xaf],
            [0x61, 0x80, 0x62],
        ]
        let lines = broken.map { UpstreamStep.chunk(prefix + $0 + Array("\"},\"done\":false}\n".utf8)) }
        let upstream = try ScriptedUpstream([.streamHead] + lines + [.chunk(ModelLine.done()), .endChunks])
        try await onStage(upstream: upstream.url) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done)
            #expect(transcript.text == broken.map { String(decoding: $0, as: UTF8.self) }.joined())
            #expect(try stage.storedReply("app").message == Array(transcript.text.utf8))
        }
    }

    @Test func nulIsStreamedAndStoredAsAReplacementCharacter() async throws {
        let upstream = try ScriptedUpstream(
            .lines([ModelLine.token("a\u{0}b"), ModelLine.token("\\u0000"), ModelLine.done()]), .answer(["ok"]))
        try await onStage(upstream: upstream.url) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt with \u{0}"))
            transcript.check()
            #expect(transcript.text == "a\u{fffd}b\\u0000")
            #expect(try stage.rows("app").map(\.text) == ["prompt with \u{fffd}", "a\u{fffd}b\\u0000"])
            Transcript(try stage.chat("app", "next")).check()
            #expect(
                upstream.requests.last?.messages == [
                    ["user", "prompt with \u{fffd}"], ["assistant", "a\u{fffd}b\\u0000"], ["user", "next"],
                ])
        }
    }

    @Test(arguments: [ModelDialect.v0_11, .v0_32])
    func toolCallsPassThroughAndAreReplayed(dialect: ModelDialect) async throws {
        let lines = ModelLine.toolCalls([("get_weather", "{\"city\":\"Bodø\",\"days\":2}"), ("now", "{}")], dialect)
        let upstream = try ScriptedUpstream(.lines(lines), .answer(["It rains."]))
        try await onStage(upstream: upstream.url) { stage in
            let transcript = Transcript(try stage.chat("app", "weather?"))
            transcript.check()
            #expect(transcript.lines.map(\.withoutTimings) == lines.map { String($0.dropLast()) })
            let row = try stage.storedReply("app")
            #expect(row.summary == ["assistant", "", "complete"])
            #expect(row.extras?.contains("\"get_weather\"") == true)

            Transcript(try stage.chat("app", "and now?")).check()
            let replayed = upstream.requests.last?.json["messages"] as? [[String: Any]] ?? []
            let calls = replayed.dropFirst().first?["tool_calls"] as? [[String: Any]] ?? []
            let functions = calls.compactMap { $0["function"] as? [String: Any] }
            #expect(functions.map { $0["name"] as? String } == ["get_weather", "now"])
            #expect((functions.first?["arguments"] as? [String: Any])?["city"] as? String == "Bodø")
        }
    }

    @Test func thinkingPassesThroughAndIsKeptApart() async throws {
        let lines = [
            ModelLine.thinking("wants "), ModelLine.thinking("tea"), ModelLine.token("Tea?"), ModelLine.done(),
        ]
        let upstream = try ScriptedUpstream(.lines(lines))
        try await onStage(upstream: upstream.url) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.lines.map(\.withoutTimings) == lines.map { String($0.dropLast()) })
            let row = try stage.storedReply("app")
            #expect(row.summary == ["assistant", "Tea?", "complete"])
            #expect(row.thinking == "wants tea")
        }
    }

    @Test func endlessAnswerIsEnded() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .forever([.chunk(ModelLine.token("0123456789"))])])
        try await onStage(upstream: upstream.url, environment: [.answerLimit: "2000"]) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .error("answer_too_large"))
            #expect(transcript.text.utf8.count <= 2000 && transcript.text.utf8.count > 1000)
            let row = try stage.storedReply("app")
            #expect(row.state == "failed" && row.text == transcript.text)
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }

    @Test func totalTimeoutEndsTheAnswer() async throws {
        let pace = Gate()
        let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.token("a")), .wait(for: pace)])
        try await onStage(upstream: upstream.url, environment: [.upstreamTotalTimeout: "20s"]) { stage in
            // The token must come within the limit.
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .error("upstream_total_timeout"))
            #expect(try stage.storedReply("app").summary == ["assistant", "a", "failed"])
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }

    @Test func connectionResetEndsInAnError() async throws {
        let sent = Gate()
        let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.token("Hello")), .wait(for: sent), .reset])
        try await onStage(upstream: upstream.url) { stage in
            let client = try stage.beginChat("app", "prompt")
            _ = try client.nextDataEvent()
            sent.open()
            #expect(try client.nextDataEvent().name == "error")
            #expect(client.nextEvent() == nil && client.bodyEnd == .complete)
            #expect(try stage.storedReply("app").summary == ["assistant", "Hello", "failed"])
        }
    }

    @Test func eventsArriveWithTheTokens() async throws {
        let gates = [Gate(), Gate()]
        let upstream = try ScriptedUpstream([
            .streamHead, .wait(for: gates[0]), .chunk(ModelLine.token("one")), .wait(for: gates[1]),
            .chunk(ModelLine.token("two")), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onStage(upstream: upstream.url) { stage in
            // The head comes before the first token of the model.
            let client = try stage.beginChat("app", "prompt")
            #expect(try stage.rows("app").map(\.summary) == [["user", "prompt"]])
            gates[0].open()
            try client.nextDataEvent(containing: "one")
            gates[1].open()
            try client.nextDataEvent(containing: "two")
            #expect(client.readEvents().filter { $0.data != nil }.count == 1)
        }
    }

    @Test func commentsAreSentDuringSilence() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([
            .streamHead, .wait(for: gate), .chunk(ModelLine.token("late")), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onStage(upstream: upstream.url, environment: [.keepAlive: "100ms"]) { stage in
            let client = try stage.beginChat("app", "prompt")
            let first = client.nextEvent()
            #expect(first?.data == nil && first?.comments.count == 1)
            #expect(client.nextEvent()?.comments.count == 1)
            gate.open()
            let rest = client.readEvents()
            #expect(rest.filter { $0.data != nil }.count == 2)
            let seed = SeedClient(client.body)
            #expect(seed.message == "late" && seed.errMsg.isEmpty && seed.violation == nil)
        }
    }

    @Test func fieldsOfTheRequestPassThrough() async throws {
        let upstream = try ScriptedUpstream.answering(["{}"])
        try await onStage(upstream: upstream.url) { stage in
            let body =
                "{\"appID\":\"app\",\"model\":\"tiny\","
                + "\"messages\":[{\"role\":\"user\",\"content\":\"look\",\"images\":[\"aGk=\"]}],"
                + "\"stream\":true,\"options\":{\"seed\":7},\"format\":\"json\",\"think\":false,\"keep_alive\":\"5m\","
                + "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}"
            Transcript(try RawClient.post(port: stage.port, "/llmchat", json: body)).check()
            let request = upstream.requests[0]
            #expect(request.path == "/api/chat")
            #expect(request["Content-Type"]?.hasPrefix("application/json") == true)
            #expect(request["Host"] == "127.0.0.1:\(upstream.port)")
            #expect((request.json["options"] as? [String: Any])?["seed"] as? Int == 7)
            #expect(request.json["format"] as? String == "json")
            #expect(request.json["think"] as? Bool == false)
            #expect(request.json["keep_alive"] as? String == "5m")
            #expect((request.json["tools"] as? [Any])?.count == 1)
            let message = (request.json["messages"] as? [[String: Any]])?.first
            #expect(message?["images"] as? [String] == ["aGk="])
            #expect(request.json["appID"] == nil)
        }
    }
}
