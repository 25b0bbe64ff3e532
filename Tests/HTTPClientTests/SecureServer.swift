import Bytes
import HTTPClient
import Sockets
import TestSupport
import Testing

/// A server behind TLS that answers each request with the same bytes.
final class SecureServer: Sendable {
    let files: Certificates
    let port: Int
    private let listener: Listener
    private let connections = Monitor(0)

    /// Every read is taken for one request; with `closes`, the connection ends behind the answer.
    init(_ answer: String, certificate: String = "server", closes: Bool = false) throws {
        files = try Certificates()
        let context = try TLSContext.server(certificate: files.certificate(certificate), key: files.key(certificate))
        let shard = ClientHarness.shard
        let address = try #require(SocketAddress(numericHost: "127.0.0.1", port: 0))
        let bytes = Array(answer.utf8)
        listener = try Listener(binding: address, on: shard, slots: 100) { [connections] descriptor, peer in
            connections.withLock { $0 += 1 }
            // A descriptor that cannot be watched is closed, and the test fails by that.
            _ = try? TCPStream.adopt(
                descriptor, peer: peer, on: shard, delegate: Connection(bytes, closes: closes), tls: context)
        }
        port = Int(listener.address.port)
        listener.start()
    }

    var connectionCount: Int { connections.withLock { $0 } }

    /// A client that trusts the server's authority.
    func client(_ limits: HTTPClientLimits = .patient) throws -> ClientHarness {
        ClientHarness(limits, tls: try TLSContext.client(authorities: files.authority))
    }

    private final class Connection: TCPStreamDelegate {
        let answer: [UInt8]
        let closes: Bool

        init(_ answer: [UInt8], closes: Bool) {
            self.answer = answer
            self.closes = closes
        }

        func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
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
