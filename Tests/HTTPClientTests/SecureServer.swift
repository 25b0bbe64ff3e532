import ChatterdBasics
import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// A server behind TLS that answers each request with the same bytes.
final class SecureServer: Sendable {
    let files: Certificates
    let port: Int
    private let listener: Listener
    private let connections = Monitor<[TCPStream]>([])

    /// Every read counts as one request. With `closes`, the connection ends after the answer. After the given number of answers, a
    /// connection ends without one.
    init(_ answer: String, certificate: String = "server", closes: Bool = false, answers: Int = .max) throws {
        files = try Certificates()
        let context = try TLSContext.server(certificate: files.certificate(certificate), key: files.key(certificate))
        let shard = ClientHarness.shard
        let address = try #require(SocketAddress(numericHost: "127.0.0.1", port: 0))
        let bytes = Array(answer.utf8)
        listener = try Listener(binding: address, on: shard, slots: 100)
        port = Int(listener.address.port)
        try listener.start { [connections] descriptor, peer in
            let connection = Connection(bytes, closes: closes, answers: answers)
            // A descriptor that cannot be watched is closed, and the test fails.
            let stream = try? TCPStream.adopt(descriptor, peer: peer, on: shard, delegate: connection, tls: context)
            connections.withLock { $0 += stream.map { [$0] } ?? [] }
        }
    }

    var connectionCount: Int { connections.withLock { $0.count } }

    /// Closes all connections; called on the shard.
    func closeConnections() {
        for stream in connections.withLock({ $0 }) {
            stream.close()
        }
    }

    /// A client that trusts the server's authority.
    func client(_ limits: HTTPClientLimits = .longTimeouts) throws -> ClientHarness {
        ClientHarness(limits, tls: try TLSContext.client(authorities: files.authority))
    }

    private final class Connection: TCPStreamDelegate {
        let answer: [UInt8]
        let closes: Bool
        var answers: Int

        init(_ answer: [UInt8], closes: Bool, answers: Int) {
            self.answer = answer
            self.closes = closes
            self.answers = answers
        }

        func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
            guard answers > 0 else {
                stream.close()
                return
            }
            answers -= 1
            stream.write { $0.append(answer) }
            if closes {
                stream.shutdownWriting()
            }
        }

        func streamReachedEnd(_ stream: TCPStream) {
            stream.close()
        }

        func stream(_ stream: TCPStream, failed error: SocketError) {}
    }
}
