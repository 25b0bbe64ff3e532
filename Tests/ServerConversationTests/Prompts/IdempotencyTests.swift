import ChatterdTestSupport
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `Idempotency-Key` on `/llmchat`.
@Suite(.timeLimit(.minutes(30))) struct IdempotencyTests {
    private func key(_ value: String) -> [(String, String)] { [("Idempotency-Key", value)] }

    @Test func sameRequestGetsTheSameReply() async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let first = Transcript(try stage.ask("app", "x", fields: key("k-1")))
            first.check()
            for value in ["k-1", "\"k-1\""] {
                let again = Transcript(try stage.ask("app", "x", fields: key(value)))
                again.check()
                #expect(again.text == "Hello")
                #expect(again.lines.last == first.lines.last)
                #expect(again.exchange["Location"] == first.exchange["Location"])
            }
            #expect(upstream.requests.count == 1)
            #expect(try stage.rows("app").map(\.summary) == [["user", "x"], ["assistant", "Hello", "complete"]])
        }
    }

    @Test func runningReplyIsJoined() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        try await onStage(upstream: upstream.url) { stage in
            let clients = try (0..<3).map { _ in try RawClient(port: stage.port) }
            for client in clients {
                client.post("/llmchat", json: chatBody("app", "x"), fields: key("k"))
                #expect(try client.readHead().status == 200)
                #expect(try client.nextDataEvent().text == "Hello")
            }
            gate.open()
            for client in clients {
                #expect(client.readEvents().filter { $0.data != nil }.map(\.text) == [" world", ""])
            }
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func repeatedRequestWithoutAStreamGetsTheSameObject() async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let first = try stage.ask("app", "x", stream: false, fields: key("k"))
            let again = try stage.ask("app", "x", stream: false, fields: key("k"))
            #expect(first.status == 200 && again.status == 200)
            #expect(first.body == again.body)
            #expect(first["Location"] == again["Location"])
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func failureIsRepeated() async throws {
        let upstream = try ScriptedUpstream(.error(404, "model 'x' not found"))
        try await onStage(upstream: upstream.url) { stage in
            let first = try stage.ask("app", "x", stream: false, fields: key("k"))
            let again = try stage.ask("app", "x", stream: false, fields: key("k"))
            #expect(first.status == 404 && again.status == 404)
            #expect(first.text == again.text)
            #expect(first["Location"] != nil && first["Location"] == again["Location"])
            #expect(upstream.requests.count == 1)
        }
    }

    @Test func keyWithAnotherBodyIsAConflict() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.ask("app", "x", fields: key("k"))).check()
            for stream in [true, false] {
                let other = try stage.ask("app", "y", stream: stream, fields: key("k"))
                #expect(other.status == 409)
                #expect(other.json["code"] as? String == "idempotency_key_reused")
            }
            // Each app has its own keys.
            Transcript(try stage.ask("other", "y", fields: key("k"))).check()
            Transcript(try stage.ask("app", "y", fields: key("K"))).check()
            #expect(upstream.requests.count == 3)
            #expect(try stage.rows("app").count == 4)
        }
    }

    @Test func hundredConcurrentRequestsOnThreeProcessesGiveOneReply() async throws {
        let upstream = try ScriptedUpstream.answering(["Hel", "lo"])
        try await onStage(upstream: upstream.url) { stage in
            let second = try stage.startAnother()
            defer { #expect(throws: Never.self) { try second.stop() } }
            let third = try stage.startAnother()
            defer { #expect(throws: Never.self) { try third.stop() } }
            let ports = [stage.port, second.port, third.port]
            let clients = try (0..<100).map { try RawClient(port: ports[$0 % 3]) }
            for client in clients {
                client.post("/llmchat", json: chatBody("app", "x"), fields: key("k"))
            }
            var locations: Set<String> = []
            for client in clients {
                let answer = Transcript(try client.readResponse())
                answer.check()
                #expect(answer.text == "Hello")
                locations.insert(answer.exchange["Location"] ?? "")
            }
            #expect(locations.count == 1)
            #expect(upstream.requests.count == 1)
            #expect(try stage.rows("app").count == 2)
        }
    }

    @Test(arguments: [
        "", "\"\"", "\"", "\"k", "\"k\"x", "\"k\\x\"", "\"a b\"", "a b", "é", String(repeating: "k", count: 256),
    ])
    func invalidKeyIsRefused(value: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.ask("app", "x", fields: key(value))
            #expect(answer.status == 422)
            #expect(answer.json["code"] as? String == "invalid_request")
            let twice = try stage.ask("app", "x", fields: key("k") + key("k"))
            #expect(twice.status == 422)
            #expect(upstream.requests.isEmpty)
            #expect(try stage.rows("app").isEmpty)
        }
    }

    @Test func keyExpires() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.keyLifetime: "1s"]) { stage in
            let first = try stage.ask("app", "x", fields: key("k"))["Location"]
            try eventually(
                "the key stands for another request",
                isTrue: {
                    try stage.ask("app", "x", fields: key("k"))["Location"] != first
                })
            #expect(upstream.requests.count == 2)
        }
    }

    @Test func longestAndUnusualKeysAreAccepted() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            for value in [String(repeating: "k", count: 255), "\"a\\\"b\\\\c\"", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"] {
                let first = try stage.ask("app", "x", fields: key(value))
                Transcript(first).check()
                #expect(try stage.ask("app", "x", fields: key(value))["Location"] == first["Location"])
            }
            #expect(upstream.requests.count == 3)
            // `/llmprep` ignores the key.
            let body = chatBody("app", "new", role: "system")
            for _ in 0..<2 {
                #expect(try RawClient.post(port: stage.port, "/llmprep", json: body, fields: key("é")).text == "{}\n")
            }
        }
    }
}
