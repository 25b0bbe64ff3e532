import ChatterdSockets

/// A listener, and the common properties of the connections that it accepts.
final class ListeningPort: Sendable {
    private let listener: Listener
    private let identity: TLSIdentity?

    /// - Parameter identity: the certificate of connections with TLS; `nil` for plain connections.
    init(_ listener: Listener, identity: TLSIdentity?) {
        self.listener = listener
        self.identity = identity
    }

    /// The bound address, with the port that the system chose.
    var address: SocketAddress { listener.address }

    /// Whether connections use TLS.
    var isSecure: Bool { identity != nil }

    /// The TLS context of the next connection, with the current certificate.
    var tls: TLSContext? { identity?.current }

    /// Begins to accept connections. `accepted` is called on the listener's shard for each of them.
    func start(accepted: @escaping @Sendable (Int32, SocketAddress) -> Void) throws(SocketError) {
        try listener.start(accepted: accepted)
    }

    func releaseSlot() {
        listener.releaseSlot()
    }

    func close() async {
        await listener.close()
    }
}
