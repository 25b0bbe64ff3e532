import Glibc

/// Passes bytes between a peer and a port of 127.0.0.1, one by one, until `cut`.
public final class ByteProxy: Sendable {
    /// The port to connect to.
    public let port: Int
    private let listener: BoundPort
    private let piece: Int
    private let pairs = Monitor<[(TCPConnection, TCPConnection)]>([])
    private let stopped = Gate()

    /// Listens, and connects on to `target`; `piece` bytes go at a time.
    public init(to target: Int, piece: Int = 1) throws {
        listener = try BoundPort(backlog: 16)
        port = listener.port
        self.piece = piece
        startThread { [listener, stopped, weak self] in
            while let client = listener.accept(unless: stopped) {
                // If the target has ended, the connection of the client ends at once.
                guard let server = try? TCPConnection.connect(port: target) else { continue }
                self?.join(client, server)
            }
        }
    }

    deinit {
        stopped.open()
        cut()
    }

    /// Ends all connections in both directions with an orderly end of TCP, without the close of a higher protocol.
    public func cut() {
        pairs.withLock { pairs in
            for (client, server) in pairs {
                client.shutDown()
                server.shutDown()
            }
        }
    }

    private func join(_ client: TCPConnection, _ server: TCPConnection) {
        pairs.withLock { $0.append((client, server)) }
        for (from, to) in [(client, server), (server, client)] {
            startThread { [piece] in
                while case .bytes(let bytes) = from.receive(atMost: piece, upTo: 600), to.send(bytes) {}
                to.halfClose()
            }
        }
    }
}

extension TCPConnection {
    /// Ends both directions. The descriptor stays open until the object is deallocated.
    func shutDown() {
        shutdown(current, Int32(SHUT_RDWR))
    }
}
