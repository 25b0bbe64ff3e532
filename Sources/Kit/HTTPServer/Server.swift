import ChatterdBasics
import ChatterdSockets
import Glibc

/// An HTTP/1.1 server, RFC 9110 and 9112. It distributes its connections over shards.
public final class Server: Sendable {
    /// The values that all shards share.
    struct Parts: Sendable {
        let limits: Limits
        let timing: Timing
        let router: Router
        let policy: BrowserPolicy
        let hooks: ServerHooks
        let memory: MemoryBudget
    }

    private struct Listening {
        var ports: [ListeningPort] = []
        var addresses: [SocketAddress] = []
    }

    private let groups: [Confined<ConnectionGroup>]
    private let shards: [Shard]
    let load: ShardLoad
    private let limits: Limits
    private let listening = Lock(Listening())

    /// Creates a server on one or more shards. It does not listen yet.
    ///
    /// - Parameters:
    ///   - policy: the accepted host names, and the web pages that may use the server.
    ///   - memory: the budget of request bodies and unsent output. An exhausted budget gives 503 and smaller buffers.
    public init(
        shards: [Shard], limits: Limits = Limits(), router: Router, policy: BrowserPolicy = BrowserPolicy(),
        hooks: ServerHooks = ServerHooks(), memory: MemoryBudget = MemoryBudget(limit: 512 * 1024 * 1024)
    ) {
        precondition(!shards.isEmpty, "a server needs a shard")
        let parts = Parts(
            limits: limits, timing: Timing(limits), router: router, policy: policy, hooks: hooks,
            memory: memory)
        let load = ShardLoad(shards: shards.count)
        self.limits = limits
        self.shards = shards
        self.load = load
        groups = shards.enumerated().map { index, shard in
            Confined(ConnectionGroup(shard: shard, index: index, server: parts, load: load), to: shard)
        }
    }

    /// Listens on a further address, and returns it with the port that the system chose. With an identity, connections use TLS.
    ///
    /// - Throws: `addressInUse`, `system`.
    @discardableResult
    public func listen(on address: SocketAddress, tls identity: TLSIdentity? = nil) throws(SocketError) -> SocketAddress
    {
        let listener = try Listener(binding: address, on: shards[0], slots: limits.connections)
        let port = ListeningPort(listener, identity: identity)
        try port.start { [groups, shards, load, weak port] descriptor, peer in
            guard let port else {
                // The server is deallocated, and its listener, which the port holds, soon will be.
                close(descriptor)
                return
            }
            let index = load.assign()
            let (shard, group) = (shards[index], groups[index])
            if shard.isCurrent {
                group.value.adopt(descriptor, peer: peer, from: port)
            } else {
                shard.run { group.value.adopt(descriptor, peer: peer, from: port) }
            }
        }
        listening.withLock { listening in
            listening.ports.append(port)
            listening.addresses.append(port.address)
        }
        return port.address
    }

    /// The number of open connections of all listeners. Safe on any thread.
    public var connectionCount: Int { load.total }

    /// The addresses of the listeners, in the order of `listen`.
    public var boundAddresses: [SocketAddress] { listening.withLock { $0.addresses } }

    /// Stops listening, answers the requests that have begun, and returns when all connections have ended. Connections that last longer
    /// than `grace` are cut off.
    public func shutDown(within grace: Duration) async {
        let ports = listening.withLock { $0.ports }
        for port in ports {
            await port.close()
        }
        onEachShard { $0.beginShutdown(within: grace) }
        await waitUntilIdle()
        onEachShard { $0.cancelShutdownTimer() }
    }

    /// Cuts off all connections at once.
    public func abort() {
        onEachShard { $0.abortAll() }
    }

    private func onEachShard(_ body: @escaping @Sendable (ConnectionGroup) -> Void) {
        for (shard, group) in zip(shards, groups) {
            shard.run { body(group.value) }
        }
    }

    /// Returns when there is no connection.
    public func waitUntilIdle() async {
        await load.waitUntilEmpty()
    }
}
