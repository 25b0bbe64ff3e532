import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Concurrent changes of a conversation.
@Suite(.timeLimit(.minutes(30))) struct RaceTests {
    @Test func waitingTurnOfAReplacedConversationIsNotSent() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([
            .streamHead, .chunk(ModelLine.token("Hello")), .wait(for: gate), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onStage(upstream: upstream.url) { stage in
            let first = try stage.beginChat("app", "one")
            _ = try first.nextDataEvent()
            let second = try stage.beginChat("app", "two")
            let body = chatBody("app", "new", role: "system", stream: false)
            #expect(try RawClient.post(port: stage.port, "/llmprep", json: body).status == 200)
            gate.open()
            for client in [first, second] {
                let end = try client.nextDataEvent()
                #expect(object(end.data ?? "")["code"] as? String == "conversation_replaced")
            }
            #expect(upstream.requests.count == 1)
            #expect(try stage.rows("app").map(\.summary) == [["system", "new"]])
        }
    }

    @Test func clientThatLeavesDuringTheCommitIsNoticed() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .stall])
        try await onThread {
            let cluster = try PrivateCluster.make()
            let stage = try Stage(
                upstream: upstream.url,
                // A shard reads the earlier bytes before it answers a later client.
                environment: [.disconnectGrace: "0", .keepAlive: "100ms", .shards: "1"], cluster: cluster)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            try cluster.pause()
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: chatBody("app", "one"))
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            client.reset()
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            try cluster.resume()
            #expect(try stage.storedReply("app").summary == ["assistant", "", "cancelled"])
        }
    }

    @Test func concurrentPromptsAllGetATurnNumber() async throws {
        let upstream = try ScriptedUpstream.answering(["yes"])
        try await onStage(upstream: upstream.url, environment: [.maximumWaitingTurns: "64"]) { stage in
            let clients = try (0..<40).map { _ in try RawClient(port: stage.port) }
            for (index, client) in clients.enumerated() {
                client.post("/llmchat", json: chatBody("app", "p\(index)"))
            }
            for client in clients {
                Transcript(try client.readResponse()).check()
            }
            let rows = try stage.rows("app")
            #expect(rows.count == 80)
            #expect(rows.enumerated().allSatisfy { $0.offset % 2 == 0 || $0.element.state == "complete" })
            // Each request has all messages before its prompt.
            #expect(upstream.requests.map(\.messages.count) == (0..<40).map { 2 * $0 + 1 })
        }
    }

    @Test func passThroughHasTimeouts() async throws {
        let body = "{\"model\":\"tiny\",\"prompt\":\"Hi\"}"
        let line = UpstreamStep.chunk("{\"response\":\"x\",\"done\":false}\n")
        let mute = try ScriptedUpstream([.stall])
        // The timeout may pass before the request is sent.
        try await onStage(upstream: mute.url, environment: [.upstreamFirstByteTimeout: "200ms"]) { stage in
            let silent = try RawClient.post(port: stage.port, "/llmprompt", json: body)
            #expect(silent.status == 504)
            #expect(silent.json["code"] as? String == "upstream_first_byte_timeout")
        }
        // The answer must begin within the timeout. On a busy machine it may not: then a longer one follows.
        for timeout in ["1s", "5s", "25s", "2m"] {
            let upstream = try ScriptedUpstream([.streamHead, line, .stall])
            let hasBegun = Gate()
            try await onStage(upstream: upstream.url, environment: [.upstreamTotalTimeout: timeout]) { stage in
                let endless = try RawClient.post(port: stage.port, "/llmprompt", json: body)
                guard endless.status == 200 else {
                    #expect(endless.status == 504 && endless.json["code"] as? String == "upstream_total_timeout")
                    return
                }
                hasBegun.open()
                #expect(endless.text.contains("\n{\"error\":\"The answer took longer than"))
                try upstream.waitForClose(of: upstream.requests[0])
            }
            if hasBegun.isOpen { return }
        }
        Issue.record("no answer began within its timeout")
    }
}
