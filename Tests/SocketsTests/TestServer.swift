import ChatterdSockets
import ChatterdTestSupport
import Testing

/// A listener whose connections become endpoints.
final class TestServer: Sendable {
    let port: Int
    let listener: Listener
    private let endpoints: Monitor<[Endpoint]>
    private let reserved: BoundPort?

    /// Listens on a port of 127.0.0.1, that of `port` or a free one. `onBytes` gets every piece of input, on the shard.
    init(
        on shard: Shard, at port: BoundPort? = nil, slots: Int = 100, tls: (@Sendable () -> TLSContext)? = nil,
        onBytes: (@Sendable (TCPStream, Span<UInt8>) -> Void)? = nil
    ) throws {
        reserved = port
        let address = try #require(SocketAddress(numericHost: "127.0.0.1", port: UInt16(port?.port ?? 0)))
        let endpoints = Monitor<[Endpoint]>([])
        self.endpoints = endpoints
        listener = try Listener(binding: address, on: shard, slots: slots)
        self.port = Int(listener.address.port)
        try listener.start { descriptor, peer in
            let endpoint = Endpoint.adopt(descriptor, peer, on: shard, tls: tls?(), onBytes: onBytes)
            endpoints.withLock { $0.append(endpoint) }
        }
    }

    /// The connections so far.
    var count: Int { endpoints.withLock { $0.count } }

    /// Waits for a connection by its number, from 0.
    func connection(_ number: Int) throws -> Endpoint {
        let found = endpoints.wait { $0.count > number ? $0[number] : nil }
        return try #require(found, "connection \(number) has not come")
    }

    /// Echoes the input.
    static let echo: @Sendable (TCPStream, Span<UInt8>) -> Void = { stream, bytes in
        stream.write(bytes)
    }
}
