import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// Sends a request over TLS and collects the bytes of the connection.
private final class TLSClient: TCPStreamDelegate, Sendable {
    private let received = Lock<(bytes: [UInt8], hasEnded: Bool)>((bytes: [], hasEnded: false))
    private let stream = Lock<TCPStream?>(nil)

    init(port: Int, shard: Shard, files: Certificates, request: String) throws {
        let context = try TLSContext.client(authorities: files.authority)
        guard let address = SocketAddress(numericHost: "127.0.0.1", port: UInt16(port)) else {
            throw TestFailure("no loopback address")
        }
        shard.run { [self] in
            let stream = try? TCPStream.connect(
                to: address, on: shard, delegate: self, tls: (context: context, host: "localhost"))
            stream?.write(Array(request.utf8).span)
            self.stream.withLock { $0 = stream }
        }
    }

    func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
        received.withLock { received in
            bytes.withUnsafeBufferPointer { received.bytes.append(contentsOf: $0) }
        }
    }

    func streamReachedEnd(_ stream: TCPStream) {
        received.withLock { $0.hasEnded = true }
    }

    func stream(_ stream: TCPStream, failed error: SocketError) {
        received.withLock { $0.hasEnded = true }
    }

    var hasEnded: Bool { received.withLock { $0.hasEnded } }
    var bytes: [UInt8] { received.withLock { $0.bytes } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

@Suite(.timeLimit(.minutes(30))) struct TLSListenerTests {
    private func makeServer(
        _ files: Certificates, limits: Limits = .longTimeouts
    ) throws -> (test: TestServer, port: Int) {
        let test = try TestServer(shards: 2, limits: limits) {
            $0.addUsualRoutes()
            $0.on(.get, "/large") { _, responder in
                responder.respond(.ok, body: [UInt8](repeating: 120, count: 4 * 1024 * 1024))
            }
        }
        let identity = try TLSIdentity(certificate: files.certificate("server"), key: files.key("server"))
        guard let address = SocketAddress(numericHost: "127.0.0.1", port: 0) else {
            throw TestFailure("no loopback address")
        }
        return (test, Int(try test.server.listen(on: address, tls: identity).port))
    }

    @Test func requestsAreServedOverTLSBesidePlainOnes() async throws {
        let files = try Certificates()
        let (test, port) = try makeServer(files)
        let get = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"
        let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        try await blocking {
            let client = try TLSClient(port: port, shard: test.shards[0], files: files, request: get + last)
            try eventually("the connection ends") { client.hasEnded }
            #expect(client.text.contains("one "))
            #expect(client.text.hasSuffix("connection: close\r\n\r\nhello"))
            #expect(try RawClient.get(port: test.port, "/").text == "hello")
        }
        #expect(try test.records(3).allSatisfy { $0.outcome == .completed })
    }

    @Test func largeResponseArrivesInFull() async throws {
        let files = try Certificates()
        let (test, port) = try makeServer(files)
        let get = "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        try await blocking {
            let client = try TLSClient(port: port, shard: test.shards[1], files: files, request: get)
            try eventually("the connection ends") { client.hasEnded }
            #expect(client.bytes.count > 4 * 1024 * 1024)
            #expect(client.bytes.suffix(4 * 1024 * 1024).allSatisfy { $0 == 120 })
        }
    }

    @Test func clientWithoutTLSIsClosedAndDisturbsNoOther() async throws {
        let files = try Certificates()
        var limits = Limits.longTimeouts
        limits.idle = .milliseconds(500)
        limits.writeStall = .milliseconds(30)
        let (test, port) = try makeServer(files, limits: limits)
        try await blocking {
            let silent = try RawClient(port: port)
            let plain = try RawClient(port: port)
            plain.request("GET", "/")
            _ = plain.readToEnd()
            _ = silent.readToEnd()
            try waitFor { await test.server.waitUntilIdle() }
            let other = try test.whileHeld {
                let other = try RawClient(port: test.port)
                other.request("GET", "/")
                return other
            }
            #expect(try other.readResponse().text == "hello")
        }
    }
}
