import ChatterdBasics
import ChatterdSockets

/// What a client knows of one origin: idle connections and addresses. Confined to its shard.
final class OriginPool: @unchecked Sendable {
    let origin: Origin
    let shard: Shard
    let limits: HTTPClientLimits
    /// What connections to an https origin are made with.
    var tls: TLSContext?

    /// The one used last stands last.
    private var idle: [ClientConnection] = []
    /// Nobody will ask for a connection any more.
    private var isRetired = false
    private var idleTimer: DeadlineTimer?
    private var addresses: [SocketAddress] = []
    private var addressesExpire = Instant.distantPast
    /// Those that wait for the look-up under way.
    private var waiting: [Dial] = []

    init(origin: Origin, shard: Shard, limits: HTTPClientLimits) {
        self.origin = origin
        self.shard = shard
        self.limits = limits
    }

    // MARK: - Connections

    /// The idle connection that was used last: the others get the chance to expire.
    func takeIdle() -> ClientConnection? {
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

    /// Forgets a connection that is closed.
    func remove(_ connection: ClientConnection) {
        idle.removeAll { $0 === connection }
    }

    /// Closes the idle connections, and keeps none from now on. The pool may be let go of anywhere afterwards.
    func retire() {
        isRetired = true
        idleTimer = nil
        closeIdle()
    }

    func closeIdle() {
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

    /// Gives the dial its addresses, at once when they are known; one look-up serves all that wait for it.
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
        Task(executorPreference: shard) {
            let result: Result<[SocketAddress], SocketError>
            do throws(SocketError) {
                result = .success(try await Resolver.resolve(target))
            } catch {
                result = .failure(error)
            }
            self.resolved(result)
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

    /// Has the name looked up again: none of its addresses answered.
    func forgetAddresses() {
        addressesExpire = .distantPast
    }
}
