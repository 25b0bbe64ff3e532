import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdTestSupport
import Testing

/// One response as bytes, and its expected outcome.
struct ResponseVector: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: String
    var status = 200
    var body = ""
    /// Whether the server closes after the bytes.
    var closes = false

    var testDescription: String { name }

    static let all: [ResponseVector] = [
        ResponseVector(
            name: "a length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello"),
        ResponseVector(name: "an empty body", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ResponseVector(name: "no content", bytes: "HTTP/1.1 204 No Content\r\n\r\n", status: 204),
        ResponseVector(
            name: "chunks",
            bytes:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nT: v\r\n\r\n",
            body: "hello, world"),
        ResponseVector(
            name: "until the end", bytes: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello", body: "hello",
            closes: true),
        ResponseVector(
            name: "HTTP/1.0", bytes: "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello", closes: true),
        ResponseVector(
            name: "interim heads",
            bytes:
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            body: "hi"),
        ResponseVector(
            name: "a redirect", bytes: "HTTP/1.1 307 x\r\nLocation: http://h/\r\nContent-Length: 3\r\n\r\nyes",
            status: 307,
            body: "yes"),
        ResponseVector(
            name: "an error", bytes: "HTTP/1.1 503 Busy\r\nContent-Length: 15\r\n\r\n{\"error\":\"busy\"",
            status: 503, body: "{\"error\":\"busy\""),
    ]
}

@Suite(.timeLimit(.minutes(30))) struct ResponseTests {
    @Test(arguments: ResponseVector.all)
    func responseArrivesWhole(vector: ResponseVector) async throws {
        try await check(vector) { [.send($0)] }
    }

    @Test(arguments: ResponseVector.all)
    func responseArrivesByteByByte(vector: ResponseVector) async throws {
        try await check(vector) { [.sendSplit($0, piecesOf: 1)] }
    }

    @Test(arguments: ResponseVector.all)
    func responseArrivesInTwoPartsSplitAnywhere(vector: ResponseVector) async throws {
        for cut in 1..<vector.bytes.utf8.count {
            try await check(vector) { bytes in
                [.send(Array(bytes[..<cut])), .sendSplit(Array(bytes[cut...]), piecesOf: bytes.count)]
            }
        }
    }

    private func check(
        _ vector: ResponseVector, _ steps: @escaping @Sendable ([UInt8]) -> [UpstreamStep]
    ) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream { _ in
                steps(Array(vector.bytes.utf8)) + (vector.closes ? [.close] : [])
            }
            let outcome = try ClientHarness().ask(of: upstream.url)
            #expect(outcome.head?.status.code == vector.status)
            #expect(outcome.text == vector.body)
            #expect(outcome.ends == 1)
            #expect(outcome.errors.isEmpty)
        }
    }

    @Test func requestArrivesUnchanged() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "{}"))
            let body = [UInt8](repeating: 7, count: 3_000_000)
            let request = OutgoingRequest(
                .post, "/api/chat?x=1",
                fields: [.contentType: "application/json", .host: "elsewhere", .connection: "close"], body: body)
            let outcome = try ClientHarness().ask(request, of: upstream.url + "/base/")
            #expect(outcome.ends == 1)
            let seen = try #require(upstream.requests.first)
            #expect(seen.path == "/base/api/chat?x=1")
            #expect(seen["Host"] == "127.0.0.1:\(upstream.port)")
            #expect(seen["Content-Length"] == "3000000")
            #expect(seen["Content-Type"] == "application/json")
            #expect(seen["Connection"] == nil)
            #expect(seen.body == body)
        }
    }

    @Test func postWithoutABodyHasLengthZero() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "{}"))
            _ = try ClientHarness().ask(OutgoingRequest(.post, "/x"), of: upstream.url)
            #expect(upstream.requests.first?["Content-Length"] == "0")
        }
    }

    @Test func responseToHeadHasNoBody() async throws {
        try await blocking {
            let upstream = try ScriptedUpstream([])
            let client = ClientHarness()
            for _ in 0..<2 {
                let outcome = try client.ask(OutgoingRequest(.head, "/"), of: upstream.url)
                #expect(outcome.head?.fields[.contentLength] == "17")
                #expect(outcome.body.isEmpty)
                #expect(outcome.ends == 1)
            }
            #expect(upstream.connectionCount == 1)
        }
    }

    @Test(arguments: ["nothing", "/a b", "/a\r\nX: y", ""])
    func malformedPathFailsBeforeAnyByteIsSent(path: String) async throws {
        try await blocking {
            let upstream = try ScriptedUpstream(.plain(200, "{}"))
            let outcome = try ClientHarness().ask(OutgoingRequest(.post, path), of: upstream.url)
            #expect(outcome.errors.map(\.code) == [.invalidURL])
            #expect(upstream.connectionCount == 0)
        }
    }
}
