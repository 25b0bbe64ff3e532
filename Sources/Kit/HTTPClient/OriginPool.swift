import ChatterdBasics
import ChatterdSockets

/// The idle connections and the addresses of one origin. Confined to its shard.
final class OriginPool {
    let origin: Origin
    let shard: Shard
    let limits: HTTPClientLimits
    /// The TLS context of connections to an https origin.
    var tls: TLSContext?

    /// In the order of their last use.
    private var idle: [ClientConnection] = []
    /// Whether the client is released, so that no connection is needed any more.
    private var isRetired = false
    private var idleTimer: DeadlineTimer?
    private var addresses: [SocketAddress] = []
    /// When the addresses must be looked up again.
    private var addressesExpire = Instant.distantPast
    /// The dials that wait for the present look-up.
    private var waiting: [Dial] = []

    init(origin: Origin, shard: Shard, limits: HTTPClientLimits) {
        self.origin = origin
        self.shard = shard
        self.limits = limits
    }

    // MARK: - Connections

    /// Removes and returns the idle connection that was used last, so that the others expire.
    func acquireIdle() -> ClientConnection? {
        idle.popLast()
    }

    /// Keeps a connection for the next request.
    func keep(_ connection: ClientConnection) {
        guard !isRetired else {
            connection.close()
            return
        }
        connection.idleSince = shard.now
        idle.append(connection)
        if idle.count > limits.idleConnections {
            idle.removeFirst().close()
        }
        let timer = idleTimer ?? DeadlineTimer(on: shard) { [unowned self] in closeExpired() }
        idleTimer = timer
        if !timer.isSet {
            timer.set(after: limits.idleTime)
        }
    }

    /// Removes a closed connection.
    func remove(_ connection: ClientConnection) {
        idle.removeAll { $0 === connection }
    }

    /// Closes the idle connections, and keeps no further one. Any thread may release the pool afterwards.
    func retire() {
        isRetired = true
        idleTimer = nil
        let closing = idle
        idle = []
        for connection in closing {
            connection.close()
        }
    }

    private func closeExpired() {
        while let oldest = idle.first {
            let expiry = oldest.idleSince + limits.idleTime
            guard expiry <= shard.now else {
                idleTimer?.set(at: expiry)
                return
            }
            idle.removeFirst().close()
        }
    }

    // MARK: - Addresses

    /// Gives a dial the addresses, at once if they are known. Dials that wait at the same time share one look-up.
    func resolve(for dial: Dial) {
        if let numeric = SocketAddress(numericHost: origin.host, port: origin.port) {
            dial.resolved(.success([numeric]))
            return
        }
        if shard.now < addressesExpire {
            dial.resolved(.success(addresses))
            return
        }
        waiting.append(dial)
        guard waiting.count == 1 else { return }
        let target = HostAndPort(host: origin.host, port: origin.port)
        let pool = Confined(self, to: shard)
        Task(executorPreference: shard) {
            let result: Result<[SocketAddress], SocketError>
            do throws(SocketError) {
                result = .success(try await Resolver.resolve(target))
            } catch {
                result = .failure(error)
            }
            pool.value.resolved(result)
        }
    }

    private func resolved(_ result: Result<[SocketAddress], SocketError>) {
        if case .success(let found) = result {
            addresses = found
            addressesExpire = shard.now + limits.addressLifetime
        }
        let dials = waiting
        waiting = []
        for dial in dials {
            dial.resolved(result)
        }
    }

    /// Makes the next dial look the name up again, because none of the addresses answered.
    func forgetAddresses() {
        addressesExpire = .distantPast
    }
}
