import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

/// Random requests, pipelined and cut at random, get the responses that each of them would get alone.
@Suite(.timeLimit(.minutes(30))) struct RandomRequestsTests {
    private struct Expected {
        let method: String
        let status: Int
        let body: String
    }

    private func makeRequest(_ random: inout SeededGenerator) -> (text: String, expected: Expected) {
        let body = String(repeating: "x", count: Int.random(in: 0...3000, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            return ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: "GET", status: 200, body: "hello"))
        case 1:
            return (
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
                Expected(method: "POST", status: 200, body: body)
            )
        case 2:
            var text = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            var rest = body[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...1000, using: &random))
                text += "\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n"
                rest = rest.dropFirst(piece.count)
            }
            return (text + "0\r\n\r\n", Expected(method: "POST", status: 200, body: body))
        case 3:
            return (
                "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: "GET", status: 200, body: "one two three")
            )
        case 4:
            return ("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n", Expected(method: "HEAD", status: 200, body: ""))
        default:
            // This request has no body, because a refusal before the end of a body ends the connection.
            return (
                "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
                Expected(
                    method: "GET", status: 404,
                    body: #"{"error":"There is nothing at this path.","code":"not_found","retryable":false}"# + "\n")
            )
        }
    }

    @Test(arguments: 1...8)
    func eachRequestGetsItsResponse(seed: UInt64) async throws {
        let test = try TestServer(shards: 2) { $0.addUsualRoutes() }
        try await blocking {
            var random = SeededGenerator(seed: seed)
            let requests = (0..<200).map { _ in makeRequest(&random) }
            let client = try RawClient(port: test.port)
            let bytes = Array(requests.map(\.text).joined().utf8)
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int.random(in: 1...20_000, using: &random))
                client.send(Array(bytes[start..<end]))
                start = end
            }
            client.halfClose()
            for request in requests {
                try check(client, request.expected)
            }
            #expect(client.readToEnd() == ([], .cut))
        }
        #expect(try test.records(200).count == 200)
    }

    @Test(arguments: 1...4)
    func clientsThatDisconnectAnywhereAreReleased(seed: UInt64) async throws {
        var limits = Limits.longTimeouts
        limits.lingering = .milliseconds(20)
        limits.headDeadline = .milliseconds(200)
        limits.bodyDeadline = .milliseconds(200)
        limits.idle = .seconds(1)
        let test = try TestServer(shards: 2, limits: limits) { $0.addUsualRoutes() }
        try await blocking {
            var random = SeededGenerator(seed: seed)
            var kept: [RawClient] = []
            for _ in 0..<200 {
                let bytes = Array((0..<10).map { _ in makeRequest(&random).text }.joined().utf8)
                let client = try RawClient(port: test.port)
                client.send(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    client.reset()
                case 1:
                    client.close()
                case 2:
                    client.halfClose()
                    kept.append(client)
                default:
                    kept.append(client)
                }
            }
            try waitFor { await test.server.waitUntilIdle() }
            kept.removeAll()
            let other = try test.whileHeld {
                let other = try RawClient(port: test.port)
                other.request("GET", "/")
                return other
            }
            #expect(try other.readResponse().text == "hello")
        }
    }

    private func check(_ client: RawClient, _ expected: Expected) throws {
        let exchange = try client.readResponse(of: expected.method)
        #expect(exchange.status == expected.status)
        #expect(exchange.text == expected.body)
        #expect(exchange.end == .complete)
    }
}
