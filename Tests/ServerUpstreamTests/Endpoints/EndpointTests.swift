import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// The endpoints beside the conversation.
@Suite(.timeLimit(.minutes(30))) struct EndpointTests {
    @Test func promptIsPassedThroughToGenerate() async throws {
        let lines = [
            "{\"model\":\"tiny\",\"created_at\":\"t\",\"response\":\"He\",\"done\":false}\n",
            "{\"model\":\"tiny\",\"created_at\":\"t\",\"response\":\"y\",\"done\":true,\"done_reason\":\"stop\"}\n",
        ]
        let gate = Gate()
        let upstream = try ScriptedUpstream(
            [.streamHead, .chunk(lines[0]), .wait(for: gate), .chunk(lines[1]), .endChunks],
            .error(404, "model 'x' not found"), [.streamHead, .chunk(lines[0]), .close])
        try await onStage(upstream: upstream.url) { stage in
            let body = "{\"model\":\"tiny\",\"prompt\":\"Hi\",\"stream\":true,\"options\":{\"seed\":1}}"
            let client = try RawClient(port: stage.port)
            client.post("/llmprompt", json: body)
            let head = try client.readHead()
            #expect(head.status == 200)
            #expect(head["Content-Type"] == "application/x-ndjson")
            #expect(client.nextLine() == lines[0])
            gate.open()
            #expect(client.nextLine() == lines[1])
            #expect(client.nextLine() == nil && client.bodyEnd == .complete)
            #expect(upstream.requests[0].path == "/api/generate")
            #expect(upstream.requests[0].body == Array(body.utf8))

            let refused = try RawClient.post(
                port: stage.port, "/llmprompt", json: "{\"model\":\"x\",\"prompt\":\"Hi\"}")
            #expect(refused.status == 404)
            #expect(refused.text == "{\"error\":\"model 'x' not found\"}")

            // The framing shows that the answer was cut.
            let cut = try RawClient.post(port: stage.port, "/llmprompt", json: body)
            #expect(cut.end != .complete || cut.text.contains("\"error\""))
            #expect(try stage.cluster.query("SELECT count(*) FROM chatts", database: stage.database) == [["0"]])
        }
    }

    @Test func promptWithoutAModelServerIsUnavailable() async throws {
        try await onThread {
            let port = try BoundPort.refusing()
            let stage = try Stage(upstream: port.url)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            let answer = try RawClient.post(port: stage.port, "/llmprompt", json: "{\"model\":\"x\",\"prompt\":\"Hi\"}")
            #expect(answer.status == 502 || answer.status == 503)
            #expect(answer.json["code"] as? String == "upstream_unavailable")
        }
    }

    @Test(arguments: ["name", "username"])
    func boardListsItsPostings(member: String) async throws {
        try await onStage { stage in
            #expect(try RawClient.get(port: stage.port, "/getchatts").text == "[]\n")
            for text in ["first", "zweite \u{1f600} \"quoted\"\n", ""] {
                let answer = try RawClient.post(
                    port: stage.port, "/postchatt", json: "{\"\(member)\":\"ann\",\"message\":\(jsonString(text))}")
                #expect(answer.status == 200)
                #expect(answer.text == "{}\n")
            }
            let board = try RawClient.get(port: stage.port, "/getchatts")
            let rows = try JSONSerialization.jsonObject(with: Data(board.body)) as? [[String]] ?? []
            #expect(rows.map { $0[0] } == ["ann", "ann", "ann"])
            #expect(rows.map { $0[1] } == ["first", "zweite \u{1f600} \"quoted\"\n", ""])
            #expect(rows.allSatisfy { $0.count == 4 && UUID(uuidString: $0[2]) != nil })
            let times = rows.map { $0[3] }
            #expect(times == times.sorted())
            #expect(
                times.allSatisfy { $0.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/) != nil }, "\(times)")
        }
    }

    @Test func boardIsSeparateFromTheConversations() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try stage.chat("app", "private")).check()
            #expect(try RawClient.get(port: stage.port, "/getchatts").text == "[]\n")
        }
    }

    @Test(arguments: [
        "", "{", "{}", "{\"name\":\"ann\"}", "{\"message\":\"x\"}", "{\"name\":7,\"message\":\"x\"}",
        "{\"name\":\"a\",\"message\":null}",
    ])
    func invalidPostingIsRefused(body: String) async throws {
        try await onStage { stage in
            let answer = try RawClient.post(port: stage.port, "/postchatt", json: body)
            #expect(answer.status == 422)
            #expect(answer.json["code"] as? String == "invalid_request")
            #expect(try RawClient.get(port: stage.port, "/getchatts").text == "[]\n")
        }
    }

    @Test func identityHealthAndReadinessAreAnswered() async throws {
        try await onStage { stage in
            let root = try RawClient.get(port: stage.port, "/")
            #expect(root.status == 200)
            #expect(root.text.contains("chatterd"))
            #expect(try RawClient.get(port: stage.port, "/healthz").status == 200)
            #expect(try RawClient.get(port: stage.port, "/readyz").status == 200)
            let head = try RawClient.get(port: stage.port, "/", method: "HEAD")
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head["Content-Length"] == root["Content-Length"])
        }
    }

    @Test func trailingSlashIsIgnored() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            Transcript(try RawClient.post(port: stage.port, "/llmchat/", json: chatBody("app", "x"))).check()
        }
    }

    @Test func requestIDIsAcceptedOrGenerated() async throws {
        try await onStage { stage in
            let given = try RawClient.get(port: stage.port, "/healthz", fields: [("X-Request-Id", "abc-123")])
            #expect(given["X-Request-Id"] == "abc-123")
            let first = try RawClient.get(port: stage.port, "/healthz")["X-Request-Id"]
            let second = try RawClient.get(port: stage.port, "/healthz")["X-Request-Id"]
            #expect(first?.isEmpty == false && first != second)
            // An id with characters that a log line or a header cannot have is not accepted.
            let odd = try RawClient.get(
                port: stage.port, "/healthz", fields: [("X-Request-Id", String(repeating: "x", count: 5000))])
            #expect((odd["X-Request-Id"]?.count ?? 0) < 500)
        }
    }

    @Test func eventStreamForbidsCachingAndBuffering() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try stage.chat("app", "x")
            #expect(answer["Cache-Control"]?.contains("no-") == true)
            #expect(answer["X-Accel-Buffering"] == "no")
        }
    }
}
