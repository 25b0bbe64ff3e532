import ChatterdSockets

/// A listener, and what the connections that it accepts have in common.
///
/// The listener is set before it starts to accept, and not changed again.
final class ListeningPort: @unchecked Sendable {
    private var listener: Listener?
    private let identity: TLSIdentity?

    init(identity: TLSIdentity?) {
        self.identity = identity
    }

    /// Whether connections use TLS.
    var isSecure: Bool { identity != nil }

    /// What connections begin with; the certificate may have been renewed since the one before.
    var tls: TLSContext? { identity?.current }

    /// Binds; `accepted` is called for each connection once the port is started.
    func bind(
        _ address: SocketAddress, on shard: Shard, slots: Int,
        accepted: @escaping @Sendable (Int32, SocketAddress) -> Void
    ) throws(SocketError) -> SocketAddress {
        let listener = try Listener(binding: address, on: shard, slots: slots, accepted: accepted)
        self.listener = listener
        return listener.address
    }

    func start() {
        listener?.start()
    }

    func releaseSlot() {
        listener?.releaseSlot()
    }

    func close() async {
        await listener?.close()
    }
}
