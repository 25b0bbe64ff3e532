import Glibc

/// Passes connections to a port of 127.0.0.1, and cuts each one after its first event of an event stream, sometimes in the middle of the
/// second one. Other responses pass whole.
public final class CuttingProxy: Sendable {
    /// The port to connect to.
    public let port: Int
    private let listener: BoundPort
    private let stopped = Gate()
    private let state = Monitor((connections: 0, cuts: 0))

    /// Listens, and connects on to `target`, which may be absent for a while.
    public init(to target: Int) throws {
        listener = try BoundPort(backlog: 512)
        port = listener.port
        startThread { [listener, stopped, weak self] in
            while let client = listener.accept(unless: stopped) {
                guard let self, let server = try? TCPConnection.connect(port: target) else { continue }
                join(client, server)
            }
        }
    }

    deinit {
        stopped.open()
    }

    /// The number of connections that were cut.
    public var cuts: Int { state.withLock { $0.cuts } }

    private func join(_ client: TCPConnection, _ server: TCPConnection) {
        let number = state.withLock { state in
            state.connections += 1
            return state.connections
        }
        startThread {
            while case .bytes(let bytes) = client.receive(upTo: 600), server.send(bytes) {}
            server.halfClose()
        }
        startThread { [state] in
            var limit = EventLimit(rest: number % 4 * 20)
            while case .bytes(let bytes) = server.receive(upTo: 600) {
                let passed = limit.prefix(of: bytes)
                guard client.send(Array(bytes[..<passed])) else { break }
                if passed < bytes.count {
                    state.withLock { $0.cuts += 1 }
                    break
                }
            }
            client.shutDown()
            server.shutDown()
        }
    }
}

/// Ends a response after its first event and some bytes.
private struct EventLimit {
    /// How many bytes follow the event.
    var rest: Int
    private var isLineEnd = false
    private var hasEvent = false

    init(rest: Int) {
        self.rest = rest
    }

    /// The number of bytes to pass.
    mutating func prefix(of bytes: [UInt8]) -> Int {
        for (index, byte) in bytes.enumerated() {
            if hasEvent {
                if rest == 0 { return index }
                rest -= 1
            } else {
                // Line ends of heads and of chunks are CR LF; an empty line of an event stream is LF LF.
                hasEvent = byte == 10 && isLineEnd
                isLineEnd = byte == 10
            }
        }
        return bytes.count
    }
}
