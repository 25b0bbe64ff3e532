import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct PersistenceTests {
    private let head =
        "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nx-request-id: abc\r\ncontent-type: text/plain\r\n"

    @Test func requestIsAnsweredAndTheConnectionStays() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port)
            for _ in 0..<3 {
                client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: abc\r\n\r\n")
                let expected = head + "content-length: 5\r\n\r\nhello"
                #expect(String(decoding: try client.read(expected.utf8.count), as: UTF8.self) == expected)
            }
        }
    }

    @Test func streamIsChunked() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        let exchange = try await blocking { try RawClient.get(port: test.port, "/stream") }
        #expect(exchange.text == "one two three")
        #expect(exchange.end == .complete)
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        try await blocking {
            let client = try RawClient(port: test.port)
            let bodies = (0..<50).map { "body \($0)" }
            client.send(
                bodies.map { "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)" }
                    .joined())
            for body in bodies {
                #expect(try client.readResponse().text == body)
            }
        }
        #expect(try test.records(50).allSatisfy { $0.outcome == .completed && $0.route == "/echo" })
    }

    @Test func halfClosedClientIsStillAnswered() async throws {
        let test = try TestServer { $0.addUsualRoutes() }
        let request = "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: abc\r\n\r\n"
        let (text, end) = try await blocking { try test.answer(to: request + request) }
        let expected = head + "content-length: 5\r\n\r\nhello"
        #expect(text == expected + expected)
        #expect(end == .cut)
    }
}
