import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct DeadlineTests {
    private func makeServer(_ change: (inout Limits) -> Void) throws -> TestServer {
        var limits = Limits.longTimeouts
        change(&limits)
        return try TestServer(limits: limits) { $0.addUsualRoutes() }
    }

    @Test func missingHeadIsRefused() async throws {
        let test = try makeServer { $0.headDeadline = .milliseconds(30) }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send("GET / HTTP/1.1\r\nHo")
            let exchange = try client.readResponse()
            #expect(exchange.status == 408)
            #expect(exchange.json["code"] as? String == "head_timeout")
            #expect(client.readToEnd().end == .cut)
        }
    }

    @Test func missingBodyIsRefused() async throws {
        let test = try makeServer { $0.bodyDeadline = .milliseconds(30) }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab")
            let exchange = try client.readResponse()
            #expect(exchange.status == 408)
            #expect(exchange.json["code"] as? String == "body_timeout")
            #expect(client.readToEnd().end == .cut)
        }
        let record = try test.records(1)[0]
        #expect(record.route == "/echo")
        #expect(record.outcome == .refused("body_timeout"))
    }

    @Test func idleConnectionEndsWithoutAResponse() async throws {
        let test = try makeServer { $0.idle = .milliseconds(100) }
        try await blocking {
            let fresh = try RawClient(port: test.port)
            let (bytes, end) = fresh.readToEnd()
            #expect(bytes.isEmpty)
            #expect(end == .cut)

            let used = try test.whileHeld {
                let used = try RawClient(port: test.port)
                used.request("GET", "/")
                return used
            }
            #expect(try used.readResponse().text == "hello")
            #expect(used.readToEnd() == ([], .cut))
        }
        #expect(try test.records(1).count == 1)
    }

    @Test func lingeringClientIsClosed() async throws {
        let test = try makeServer { $0.lingering = .milliseconds(30) }
        try await blocking {
            let client = try RawClient(port: test.port)
            client.request("GET", "/", fields: [("Connection", "close")])
            #expect(try client.readResponse().text == "hello")
            // This side stays open.
            try waitFor { await test.server.waitUntilIdle() }
        }
    }

    @Test func stalledReaderIsCutOff() async throws {
        var limits = Limits.longTimeouts
        limits.writeStall = .milliseconds(50)
        let test = try TestServer(limits: limits) {
            $0.addUsualRoutes()
            $0.on(.get, "/large") { _, responder in
                responder.respond(.ok, body: [UInt8](repeating: 120, count: 32 * 1024 * 1024))
            }
        }
        try await blocking {
            let client = try RawClient(port: test.port, receiveBuffer: 4096)
            client.request("GET", "/large")
            let record = try test.records(1)[0]
            #expect(record.outcome == .clientGone && record.cut == .stalled)
            try waitFor { await test.server.waitUntilIdle() }
            #expect(try RawClient.get(port: test.port, "/").text == "hello")
        }
    }

    @Test func slowReaderGetsTheTimeItNeeds() async throws {
        let test = try TestServer {
            $0.on(.get, "/large") { _, responder in
                responder.respond(.ok, body: [UInt8](repeating: 120, count: 8 * 1024 * 1024))
            }
        }
        try await blocking {
            let client = try RawClient(port: test.port, receiveBuffer: 4096)
            client.request("GET", "/large")
            #expect(try client.readHead()["content-length"] == "8388608")
            #expect(client.readBody().count == 8 * 1024 * 1024)
            #expect(client.bodyEnd == .complete)
        }
        #expect(try test.records(1)[0].outcome == .completed)
    }
}
