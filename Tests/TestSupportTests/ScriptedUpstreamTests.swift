import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct ScriptedUpstreamTests {
    @Test func upstreamSendsOneLinePerChunkAndRecordsTheRequest() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello", " world"])
        let exchange = try await blocking {
            try RawClient.post(
                port: upstream.port, "/api/chat", json: "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}")
        }
        #expect(exchange.status == 200)
        #expect(exchange.end == .complete)
        #expect(exchange.text == ModelLine.token("Hello") + ModelLine.token(" world") + ModelLine.done())
        #expect(upstream.requests.map(\.path) == ["/api/chat"])
        #expect(upstream.requests.first?.messages == [["user", "Hi"]])
    }

    @Test func upstreamKeepsTheConnectionForTheNextRequest() async throws {
        let upstream = try ScriptedUpstream(.answer(["one"]), .error(404, "model 'x' not found"))
        try await blocking {
            let client = try RawClient(port: upstream.port)
            client.post("/api/chat", json: "{}")
            #expect(try client.readResponse().status == 200)
            client.post("/api/chat", json: "{}")
            let second = try client.readResponse()
            #expect(second.status == 404)
            #expect(second.json["error"] as? String == "model 'x' not found")
        }
        #expect(upstream.connectionCount == 1)
        #expect(upstream.requests.map(\.connection) == [0, 0])
    }

    @Test func truncationResetAndEndAreDistinguished() async throws {
        let upstream = try ScriptedUpstream(
            [.streamHead, .chunk("a"), .closeWithoutFinishingChunks], [.streamHead, .chunk("a"), .reset],
            [.send("HTTP/1.1 200 OK\r\n\r\nall"), .close], [.head(200, [("Content-Length", "9")]), .send("a"), .close],
            [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n")])
        let ends = try await blocking {
            try (0..<5).map { _ in try RawClient.post(port: upstream.port, "/", json: "{}").end }
        }
        #expect(ends == [.cut, .reset, .complete, .cut, .malformed("chunk size nonsense")])
    }

    @Test func upstreamWaitsForTheTestAndNoticesADisconnect() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([.streamHead, .chunk("a"), .wait(for: gate), .chunk("b"), .stall])
        try await blocking {
            let client = try RawClient(port: upstream.port)
            client.post("/api/chat", json: "{}")
            _ = try client.readHead()
            #expect(try client.readUntil("a\r\n").isEmpty == false)
            #expect(!upstream.isClosed(upstream.requests[0]))
            gate.open()
            _ = try client.readUntil("b\r\n")
            client.close()
            try upstream.waitForClose(of: upstream.requests[0])
            try upstream.waitForEnd(of: upstream.requests[0])
        }
    }

    @Test func endlessAnswerEndsWithItsReader() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .forever([.chunk(ModelLine.token("x"))])])
        try await blocking {
            let client = try RawClient(port: upstream.port)
            client.post("/api/chat", json: "{}")
            _ = try client.readHead()
            _ = try client.read(100_000)
            client.reset()
            try upstream.waitForClose(of: upstream.requests[0])
        }
    }

    @Test func refusingPortRefuses() throws {
        let port = try BoundPort.refusing()
        #expect(throws: TestFailure.self) { try RawClient(port: port.port) }
    }

    @Test func stoppedUpstreamRefuses() async throws {
        let upstream = try ScriptedUpstream.answering([])
        upstream.stop()
        #expect(throws: TestFailure.self) { try RawClient(port: upstream.port) }
    }

    @Test func linesAreSpelledAsOllamaSpellsThem() {
        #expect(
            ModelLine.token("Hello! ")
                == "{\"model\":\"tiny\",\"created_at\":\"2026-11-20T10:39:26.491288961Z\",\"message\":{\"role\":\"assistant\",\"content\":\"Hello! \"},\"done\":false}\n"
        )
        #expect(ModelLine.done(.v0_11).contains("\"done_reason\":\"stop\",\"done\":true,\"total_duration\""))
        #expect(ModelLine.toolCalls([("a", "{}"), ("b", "{}")]).count == 1)
        #expect(ModelLine.toolCalls([("a", "{}"), ("b", "{}")], .v0_11).count == 3)
        #expect(jsonString("<\u{2028}\u{0}\"é") == "\"\\u003c\\u2028\\u0000\\\"é\"")
    }
}
