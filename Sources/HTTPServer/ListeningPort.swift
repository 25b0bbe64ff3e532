import ChatterdSockets

/// A listener, and the common properties of the connections that it accepts.
///
/// The class is `@unchecked Sendable` because `bind` sets the listener before any other thread has the object, and no code changes it
/// afterwards.
final class ListeningPort: @unchecked Sendable {
    private var listener: Listener?
    private let identity: TLSIdentity?

    init(identity: TLSIdentity?) {
        self.identity = identity
    }

    /// Whether connections use TLS.
    var isSecure: Bool { identity != nil }

    /// The TLS context of the next connection, with the current certificate.
    var tls: TLSContext? { identity?.current }

    /// Binds to an address. After `start`, `accepted` is called for each connection.
    func bind(
        _ address: SocketAddress, on shard: Shard, slots: Int,
        accepted: @escaping @Sendable (Int32, SocketAddress) -> Void
    ) throws(SocketError) -> SocketAddress {
        let listener = try Listener(binding: address, on: shard, slots: slots, accepted: accepted)
        self.listener = listener
        return listener.address
    }

    /// Begins to accept connections.
    func start() throws(SocketError) {
        try listener?.start()
    }

    func releaseSlot() {
        listener?.releaseSlot()
    }

    func close() async {
        await listener?.close()
    }
}
