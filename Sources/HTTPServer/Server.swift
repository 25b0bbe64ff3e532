import ChatterdBasics
import ChatterdSockets
import Glibc

/// An HTTP/1.1 server, RFC 9110 and 9112, whose connections are spread over shards.
public final class Server: Sendable {
    /// What all shards share.
    struct Parts: Sendable {
        let limits: Limits
        let timing: Timing
        let router: Router
        let policy: BrowserPolicy
        let environment: Environment
        let memory: MemoryBudget
    }

    private struct Listening {
        var ports: [ListeningPort] = []
        var addresses: [SocketAddress] = []
    }

    private let groups: [ConnectionGroup]
    private let census: Census
    private let limits: Limits
    private let listening = Lock(Listening())

    /// Makes a server that does not listen yet; there must be a shard.
    ///
    /// - Parameters:
    ///   - policy: the accepted host names, and the web pages that may use the server.
    ///   - memory: the budget of request bodies and unsent output. An exhausted budget gives 503 and smaller buffers.
    public init(
        shards: [Shard], limits: Limits = Limits(), router: Router, policy: BrowserPolicy = BrowserPolicy(),
        environment: Environment = Environment(), memory: MemoryBudget = MemoryBudget(limit: 512 * 1024 * 1024)
    ) {
        precondition(!shards.isEmpty, "a server needs a shard")
        let parts = Parts(
            limits: limits, timing: Timing(limits), router: router, policy: policy, environment: environment,
            memory: memory)
        let census = Census(shards: shards.count)
        self.limits = limits
        self.census = census
        groups = shards.enumerated().map { place, shard in
            ConnectionGroup(shard: shard, place: place, server: parts, census: census)
        }
    }

    /// Listens on an address too, and returns it with the port that the system picked; with an identity, for TLS.
    ///
    /// - Throws: `addressInUse`, `system`.
    @discardableResult
    public func listen(on address: SocketAddress, tls identity: TLSIdentity? = nil) throws(SocketError) -> SocketAddress
    {
        let port = ListeningPort(identity: identity)
        let bound = try port.bind(address, on: groups[0].shard, slots: limits.connections) {
            [groups, census, weak port] descriptor, peer in
            guard let port else {
                // The server is gone: its listener, which the port holds, is about to follow.
                close(descriptor)
                return
            }
            let group = groups[census.place()]
            if group.shard.isCurrent {
                group.adopt(descriptor, peer: peer, from: port)
            } else {
                group.shard.run { group.adopt(descriptor, peer: peer, from: port) }
            }
        }
        listening.withLock { listening in
            listening.ports.append(port)
            listening.addresses.append(bound)
        }
        port.start()
        return bound
    }

    /// The addresses listened on, in the order of `listen`.
    public var boundAddresses: [SocketAddress] { listening.withLock { $0.addresses } }

    /// The number of connections.
    public var connectionCount: Int { census.total }

    /// Stops listening, lets the requests that have begun be answered, and returns when all connections have ended; those that
    /// have not within `grace` are cut off.
    public func shutDown(within grace: Duration) async {
        let ports = listening.withLock { $0.ports }
        for port in ports {
            await port.close()
        }
        for group in groups {
            group.shard.run { group.beginShutdown() }
        }
        let first = groups[0]
        first.shard.run { [groups] in
            first.setShutdownTimer(after: grace) { Server.abortAll(groups) }
        }
        await waitUntilIdle()
        first.shard.run { first.cancelShutdownTimer() }
    }

    /// Cuts off all connections at once.
    public func abort() {
        Server.abortAll(groups)
    }

    private static func abortAll(_ groups: [ConnectionGroup]) {
        for group in groups {
            group.shard.run { group.abortAll() }
        }
    }

    /// Returns when there is no connection.
    public func waitUntilIdle() async {
        await census.waitUntilEmpty()
    }
}
