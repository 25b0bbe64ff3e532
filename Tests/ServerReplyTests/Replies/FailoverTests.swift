import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Model servers that fail before their first token: another one is asked, or the same one again.
@Suite(.timeLimit(.minutes(30))) struct FailoverTests {
    @Test(
        arguments: [
            .error(500, "out of memory"), .error(503, "loading"), .error(401, "no such key"),
            .error(404, "model 'tiny' not found"), .busy(retryAfter: 1), .busy(retryAfter: 3600),
            .plain(200, "<html></html>", type: "text/html"), .plain(200, "{\"error\":\"out of memory\"}"),
            .plain(307, "", fields: [("Location", "http://127.0.0.1:9/")]),
            [.close], [.reset], [.send("SSH-2.0-OpenSSH_9.2\r\n"), .close], [.streamHead, .close],
            [.streamHead, .endChunks],
            [.streamHead, .chunk("{\"error\":\"out of memory\"}\n"), .endChunks],
            [.streamHead, .chunk(ModelLine.token("")), .chunk("{\"mod"), .close],
        ] as [[UpstreamStep]])
    func failureBeforeTheFirstTokenFailsOver(_ script: [UpstreamStep]) async throws {
        let first = try ScriptedUpstream(script)
        let second = try ScriptedUpstream.answering(["Hello", " there"])
        let list = severalServers(
            UpstreamOfList("one", first, "\"key\":\"first-secret\""),
            UpstreamOfList("two", second, "\"key\":\"second-secret\""))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == "Hello there")
            #expect(
                try stage.rows("app").map(\.summary) == [
                    ["user", "prompt"], ["assistant", "Hello there", "complete"],
                ])
            #expect(first.requests.count == 1 && second.requests.count == 1)
            #expect(first.requests.first?.messages == second.requests.first?.messages)
            #expect(first.requests.first?["Authorization"] == "Bearer first-secret")
            #expect(second.requests.first?["Authorization"] == "Bearer second-secret")
        }
    }

    @Test func refusedConnectionFailsOver() async throws {
        let port = try BoundPort.refusing()
        let second = try ScriptedUpstream.answering(["Hello"])
        let list = severalServers(UpstreamOfList("one", port.url), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == "Hello")
            #expect(port.port != second.port && second.requests.count == 1)
        }
    }

    @Test func firstByteTimeoutFailsOver() async throws {
        let first = try ScriptedUpstream([.stall])
        let second = try ScriptedUpstream.answering(["Hello"])
        let list = severalServers(
            UpstreamOfList("one", first, "\"first_byte_timeout\":\"300ms\""), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == "Hello")
            try first.waitForClose(of: try first.waitForRequests(1)[0])
        }
    }

    @Test func slowFirstTokenIsAwaited() async throws {
        let gate = Gate()
        let first = try ScriptedUpstream(
            [.wait(for: gate)] + .lines([ModelLine.token("at last"), ModelLine.done()]))
        let second = try ScriptedUpstream.answering(["Hello"])
        let list = severalServers(
            UpstreamOfList("one", first), UpstreamOfList("two", second), adding: [.keepAlive: "100ms"])
        try await onStage(environment: list) { stage in
            let client = try stage.beginChat("app", "prompt")
            for _ in 0..<3 { #expect(client.nextEvent()?.data == nil) }
            gate.open()
            #expect(client.readEvents().filter { $0.data != nil }.map(\.text) == ["at last", ""])
            #expect(first.requests.count == 1 && second.requests.isEmpty)
        }
    }

    @Test func failoverWithoutAStreamGivesOneAnswer() async throws {
        let first = try ScriptedUpstream(.error(500, "out of memory"))
        let second = try ScriptedUpstream.answering(["Hello"])
        try await onStage(environment: severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))) {
            stage in
            let answer = try stage.chat("app", "prompt", stream: false)
            #expect(answer.status == 200)
            #expect((answer.json["message"] as? [String: Any])?["content"] as? String == "Hello")
        }
    }

    @Test func onlyServerIsRetried() async throws {
        let upstream = try ScriptedUpstream(.error(500, "out of memory"), [.close], .answer(["Hello"]))
        try await onStage(environment: severalServers(UpstreamOfList("one", upstream))) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == "Hello")
            #expect(upstream.requests.count == 3)
        }
    }

    @Test func onlyServerIsRetriedAfterItsRetryAfter() async throws {
        let upstream = try ScriptedUpstream(.busy(retryAfter: 1), .answer(["Hello"]))
        try await onStage(environment: severalServers(UpstreamOfList("one", upstream))) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == "Hello")
            let times = upstream.requests.map(\.time)
            #expect(times.count == 2 && times[1] - times[0] >= 1)
        }
    }

    @Test func longRetryAfterOfTheOnlyServerFailsTheReply() async throws {
        let upstream = try ScriptedUpstream(.busy(retryAfter: 3600))
        try await onStage(environment: severalServers(UpstreamOfList("one", upstream))) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .error("upstream_busy"))
            #expect(upstream.requests.count == 1)
        }
    }

    @Test(arguments: [0, 1, 3]) func failoverStopsAtItsLimit(attempts: Int) async throws {
        let upstream = try ScriptedUpstream(.error(500, "out of memory"))
        let list = severalServers(UpstreamOfList("one", upstream), adding: [.failoverAttempts: "\(attempts)"])
        try await onStage(environment: list) { stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .error("upstream_error") && transcript.words.contains("out of memory"))
            #expect(upstream.requests.count == 1 + attempts)
            #expect(try stage.storedReply("app").summary == ["assistant", "", "failed"])
        }
    }

    @Test func failedServersAreRetriedInTurn() async throws {
        let first = try ScriptedUpstream(.error(500, "one is down"))
        let second = try ScriptedUpstream(.error(503, "two is down"), .answer(["Hello"]))
        try await onStage(environment: severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))) {
            stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(transcript.outcome == .done && transcript.text == "Hello")
            #expect(first.requests.count == 2 && second.requests.count == 2)
        }
    }

    @Test func requestErrorDoesNotFailOver() async throws {
        let first = try ScriptedUpstream(.error(400, "invalid think value"))
        let second = try ScriptedUpstream.answering(["Hello"])
        try await onStage(environment: severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))) {
            stage in
            let transcript = Transcript(try stage.chat("app", "prompt"))
            transcript.check()
            #expect(
                transcript.outcome == .error("upstream_rejected") && transcript.words.contains("invalid think value"))
            #expect(first.requests.count == 1 && second.requests.isEmpty)
        }
    }

    @Test func coolingDownServerIsAskedLast() async throws {
        let first = try ScriptedUpstream(.busy(retryAfter: 3600), .answer(["from the first"]))
        let second = try ScriptedUpstream(.answer(["one"]), .answer(["two"]), .error(500, "out of memory"))
        try await onStage(environment: severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))) {
            stage in
            #expect(Transcript(try stage.chat("app", "a")).text == "one")
            #expect(Transcript(try stage.chat("app", "b")).text == "two")
            #expect(first.requests.count == 1)
            // The other server fails now. The only remaining one requests a delay of an hour, and is asked nevertheless.
            let last = Transcript(try stage.chat("app", "c"))
            last.check()
            #expect(last.outcome == .done && last.text == "from the first")
        }
    }

    @Test func recoveredServerIsAskedAgain() async throws {
        let first = try ScriptedUpstream(.busy(retryAfter: 1), .answer(["from the first"]))
        let second = try ScriptedUpstream.answering(["from the second"])
        try await onStage(environment: severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))) {
            stage in
            #expect(Transcript(try stage.chat("app", "a")).text == "from the second")
            try eventually("the first one is asked again") {
                Transcript(try stage.chat("app", "b")).text == "from the first"
            }
            #expect(first.requests.count == 2)
        }
    }

    @Test func replyIsStoppedBetweenTwoAttempts() async throws {
        let upstream = try ScriptedUpstream(.busy(retryAfter: 1200), [.stall])
        try await onStage(environment: severalServers(UpstreamOfList("one", upstream))) { stage in
            let (client, location) = try stage.begin("app", "prompt")
            try upstream.waitForEnd(of: try upstream.waitForRequests(1)[0])
            #expect(try stage.send("DELETE", location).json["state"] as? String == "cancelled")
            let last = try client.nextDataEvent()
            #expect(last.isLast && last.name == nil && last.id == "0-end")
            #expect(try stage.storedReply("app").summary == ["assistant", "", "cancelled"])
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func serverStopsBetweenTwoAttempts() async throws {
        let upstream = try ScriptedUpstream(.busy(retryAfter: 1200), [.stall])
        try await onThread {
            let stage = try Stage(environment: severalServers(UpstreamOfList("one", upstream)))
            let client = try stage.beginChat("app", "prompt")
            try upstream.waitForEnd(of: try upstream.waitForRequests(1)[0])
            try stage.stop()
            let last = try client.nextDataEvent()
            #expect(last.name == "error" && object(last.data ?? "")["code"] as? String == "shutting_down")
            #expect(last.id == nil, "the reply has no text yet and is left to another process")
            let open = try stage.cluster.query(
                "SELECT count(*) FROM chatts WHERE state = 'streaming'", database: stage.database)
            #expect(open == [["1"]])
        }
    }

    @Test func clientThatLeavesBetweenTwoAttemptsEndsTheReply() async throws {
        let upstream = try ScriptedUpstream(.busy(retryAfter: 1200), [.stall])
        let list = severalServers(
            UpstreamOfList("one", upstream), adding: [.disconnectGrace: "0", .keepAlive: "100ms"])
        try await onStage(environment: list) { stage in
            let client = try stage.beginChat("app", "prompt")
            try upstream.waitForEnd(of: try upstream.waitForRequests(1)[0])
            client.reset()
            #expect(try stage.storedReply("app").summary == ["assistant", "", "cancelled"])
        }
    }
}
