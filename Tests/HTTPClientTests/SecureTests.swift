import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct SecureTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let untilClose = "HTTP/1.1 200 OK\r\n\r\nhello"

    @Test func secureConnectionIsReused() async throws {
        try await blocking {
            let server = try SecureServer(Self.answer)
            let client = try server.client()
            for _ in 0..<3 {
                let outcome = try client.ask(of: "https://localhost:\(server.port)")
                #expect(outcome.text == "hello")
                #expect(outcome.ends == 1)
            }
            #expect(server.connectionCount == 1)
        }
    }

    @Test func staleSecureConnectionIsReplaced() async throws {
        try await blocking {
            let server = try SecureServer(Self.answer)
            let client = try server.client()
            let url = "https://localhost:\(server.port)"
            #expect(try client.ask(of: url).text == "hello")
            let recorder = try client.start(to: url) { server.closeConnections() }
            #expect(try recorder.outcome().text == "hello")
            #expect(server.connectionCount == 2)
        }
    }

    @Test func requestReadByASecureServerIsNotRepeated() async throws {
        try await blocking {
            let server = try SecureServer(Self.answer, answers: 1)
            let client = try server.client()
            let url = "https://localhost:\(server.port)"
            #expect(try client.ask(of: url).text == "hello")
            #expect(try client.ask(of: url).errors.map(\.code) == [.reset])
            #expect(server.connectionCount == 1)
        }
    }

    @Test func serverWithTheWrongNameIsRefused() async throws {
        try await blocking {
            let server = try SecureServer(Self.answer, certificate: "wrong")
            let outcome = try server.client().ask(of: "https://127.0.0.1:\(server.port)")
            #expect(outcome.errors.map(\.code) == [.tls])
            #expect(outcome.head == nil)
        }
    }

    @Test func unknownAuthorityIsRefused() async throws {
        try await blocking {
            let server = try SecureServer(Self.answer)
            let outcome = try ClientHarness().ask(of: "https://localhost:\(server.port)")
            #expect(outcome.errors.map(\.code) == [.tls])
        }
    }

    @Test func plainHTTPOnATLSPortIsRecognized() async throws {
        try await blocking {
            let server = try EarlyServer(answer: "HTTP/1.1 400 Bad Request\r\n\r\n")
            let outcome = try ClientHarness().ask(of: "https://127.0.0.1:\(server.port)")
            #expect(outcome.errors.map(\.code) == [.tls])
        }
    }

    @Test func stalledHandshakeEndsAtItsTimeout() async throws {
        try await blocking {
            let port = try BoundPort.silent()
            var limits = HTTPClientLimits()
            limits.connect = .milliseconds(100)
            let outcome = try ClientHarness(limits).ask(of: "https://127.0.0.1:\(port.port)")
            #expect(outcome.errors.map(\.code) == [.connectTimedOut])
        }
    }

    @Test func bodyUntilTheEndIsCompleteAfterACloseAlert() async throws {
        try await blocking {
            let server = try SecureServer(Self.untilClose, closes: true)
            let outcome = try server.client().ask(of: "https://localhost:\(server.port)")
            #expect(outcome.text == "hello")
            #expect(outcome.ends == 1)
        }
    }

    @Test func bodyUntilTheEndIsTruncatedWithoutACloseAlert() async throws {
        try await blocking {
            let server = try SecureServer(Self.untilClose)
            let proxy = try ByteProxy(to: server.port, piece: 4096)
            let recorder = try server.client().start(to: "https://localhost:\(proxy.port)")
            try recorder.wait("the body began") { $0.text == "hello" }
            proxy.cut()
            #expect(try recorder.outcome().errors.map(\.code) == [.cut])
        }
    }

    @Test func secureResponseArrivesByteByByte() async throws {
        try await blocking {
            let server = try SecureServer(Self.answer)
            let proxy = try ByteProxy(to: server.port)
            let outcome = try server.client().ask(of: "https://localhost:\(proxy.port)")
            #expect(outcome.text == "hello")
        }
    }
}
