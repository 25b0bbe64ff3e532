import ChatterdBasics
import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct FailureTests {
    @Test func portWithoutListenerIsUnreachable() async throws {
        try await blocking {
            let port = try BoundPort.refusing()
            let outcome = try ClientHarness().ask(of: port.url)
            #expect(outcome.errors.map(\.code) == [.refused])
            #expect(outcome.ends == 0)
        }
    }

    @Test func stalledConnectEndsAtItsTimeout() async throws {
        try await blocking {
            let port = try BoundPort.hanging()
            var limits = HTTPClientLimits()
            limits.connect = .milliseconds(100)
            #expect(try ClientHarness(limits).ask(of: port.url).errors.map(\.code) == [.connectTimedOut])
        }
    }

    @Test func nameWithoutAddressFails() async throws {
        try await blocking {
            let outcome = try ClientHarness().ask(of: "http://nowhere.invalid:1")
            #expect(outcome.errors.map(\.code) == [.unresolvable])
        }
    }

    @Test func nameIsLookedUp() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "{}"))
            let client = ClientHarness()
            // The name may have the address ::1 too, without a listener. The next address is tried then.
            let asked = try (0..<3).map { _ in try client.start(to: "http://localhost:\(upstream.port)") }
            for recorder in asked {
                #expect(try recorder.outcome().ends == 1)
            }
            #expect(upstream.requests.first?["Host"] == "localhost:\(upstream.port)")
        }
    }

    @Test(arguments: [
        ("", HTTPClientError.Code.reset),
        ("HTTP/1.1 200", .reset),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", .reset),
        ("HTTP/1.1 100 Continue\r\n\r\n", .reset),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .cut),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", .cut),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .cut),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .cut),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .cut),
    ])
    func connectionThatEndsEarlyHasItsCode(sent: String, code: HTTPClientError.Code) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.send(sent), .close])
            #expect(try ClientHarness().ask(of: upstream.url).errors.map(\.code) == [code])
            #expect(upstream.connectionCount == 1)
        }
    }

    @Test(arguments: [
        ("", HTTPClientError.Code.reset),
        ("HTTP/1.1 200 OK\r\n", .reset),
        ("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", .cut),
        ("HTTP/1.1 200 OK\r\n\r\nhello", .cut),
    ])
    func brokenConnectionHasItsCode(sent: String, code: HTTPClientError.Code) async throws {
        try await blocking {
            let gate = Gate()
            let upstream = try ScriptedUpstream([.send(sent), .wait(for: gate), .reset])
            let recorder = try ClientHarness().start(to: upstream.url)
            // A reset discards unread bytes, so they must have arrived before it.
            if sent.hasSuffix("hello") {
                try recorder.wait("the body began") { $0.text == "hello" }
            } else {
                try upstream.waitForRequests(1)
            }
            gate.open()
            #expect(try recorder.outcome().errors.map(\.code) == [code])
        }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "<html>\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
        String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 9),
        "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 70_000) + "\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 101) + "\r\n",
    ])
    func nonHTTPResponseIsMalformed(sent: String) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([.send(sent), .stall])
            let outcome = try ClientHarness().ask(of: upstream.url)
            #expect(outcome.errors.map(\.code) == [.malformed])
            // The connection is closed by the client: the script would stall otherwise.
            try upstream.waitForClose(of: try #require(upstream.requests.first))
        }
    }

    @Test func failureIsNeverReportedWithinStart() async throws {
        try await blocking {
            let recorder = Recorder()
            // The system refuses this address at once.
            let origin = try Origin(parsing: "http://255.255.255.255:1")
            let wasCalled = ClientHarness.onShard {
                recorder.exchange = ClientHarness().client.value.start(.ask, to: origin, delegate: recorder)
                return recorder.state.withLock { $0.isOver }
            }
            #expect(!wasCalled)
            #expect(try recorder.outcome().errors.count == 1)
        }
    }
}
