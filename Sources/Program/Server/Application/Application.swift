import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTPServer
import ChatterdHooks
import ChatterdJSONLog
import ChatterdMetrics
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets
import ChatterdTools
import Synchronization

/// The whole server: `chatterd serve` runs it, and the tests start it on port 0.
public final class Application: Sendable {
    private let log: Log
    private let configuration: Configuration
    private let state = ServerState()
    private let identity: TLSIdentity?
    private let process: ProcessServices
    private let pools: [ShardPools]
    private let services: ShardedServices
    private let registry: UpstreamRegistry
    private let housekeeper: Confined<Housekeeper>
    private let deliveries: Confined<[HookDeliveries]>
    private let keeper: ProcessKeeper
    private let server: Server
    /// The listener of metrics, if there is one.
    private let metrics: MetricsServer?
    private let metricsListener = Lock<SocketAddress?>(nil)

    /// The shard of the services that the process has once: queues, journal, housekeeping and the stop.
    private var home: Shard { pools[0].shard }

    /// The shards that serve requests.
    var shards: [Shard] { pools.map(\.shard) }

    /// The addresses that the server listens on; the address of plain HTTP comes first.
    public var addresses: [SocketAddress] { server.boundAddresses }

    /// The address of metrics; `nil` unless the server listens for them.
    public var metricsAddress: SocketAddress? { metricsListener.withLock { $0 } }

    /// The port of plain HTTP.
    public var port: Int { Int(addresses.first?.port ?? 0) }

    // MARK: - Start

    /// Waits for the database, migrates it, and listens. If a step fails, the server undoes the steps before it.
    ///
    /// - Parameter isAlone: whether no other process can be using the database. The server closes turns that were left open then,
    ///   and the next prompt of their conversations does not wait for a lease to run out.
    /// - Throws: the step that failed, and the reason.
    public static func start(
        _ configuration: Configuration, isAlone: Bool = false, log: Log
    ) async throws(StartError) -> Application {
        let database = try ConnectionTarget(configuration.store.database)
        let identity = try readCertificate(configuration.server.tls)
        try checkCollector(configuration.tracing)
        try await migrate(database, within: configuration.store.startTimeout, log: log)
        var shards = try makeShards(configuration.server.shards + (configuration.server.metricsListen == nil ? 1 : 2))
        let metricsShard = configuration.server.metricsListen == nil ? nil : shards.removeLast()
        let keeperShard = shards.removeLast()
        let health = PoolHealth()
        let series = metricsShard.map { _ in SeriesLimit() }
        let pools = shards.map { shard in
            ShardPools(on: shard, configuration.store, target: database, health: health, series: series, log: log)
        }
        let keeperCounts = Confined(MetricCounts(series), to: keeperShard)
        let keeperPool = ProcessKeeper.pool(
            on: keeperShard, configuration.store, target: database, home: pools[0].pool, counts: keeperCounts, log: log)
        let application = Application(
            configuration, identity: identity, pools: pools, keeperPool: keeperPool, keeperCounts: keeperCounts,
            metricsShard: metricsShard, series: series, log: log)
        do throws(StartError) {
            await application.openStore()
            try await Self.checkMigrations(database, within: configuration.store.startTimeout)
            if isAlone {
                try await application.closeOpenTurns()
            }
            try await application.requireKey()
            try await application.listen()
        } catch {
            await application.stop(within: .zero)
            throw error
        }
        return application
    }

    private static func readCertificate(_ tls: Configuration.TLS?) throws(StartError) -> TLSIdentity? {
        guard let tls else { return nil }
        do throws(SocketError) {
            return try TLSIdentity(certificate: tls.certificate, key: tls.key)
        } catch {
            throw StartError("The certificate of HTTPS cannot be used: \(error)")
        }
    }

    private static func checkCollector(_ tracing: Configuration.Tracing) throws(StartError) {
        do throws(SocketError) {
            try Collector.check(tracing)
        } catch {
            throw StartError("The authorities of the collector of traces cannot be used: \(error.message)")
        }
    }

    private static func migrate(
        _ database: ConnectionTarget, within timeout: Duration, log: Log
    ) async throws(StartError) {
        let migrator = Migrator(database) { log.event(.info, "migration", .detail($0)) }
        do {
            _ = try await migrator.run(timeout: timeout)
        } catch {
            throw StartError("The database cannot be used: \(error)")
        }
    }

    /// Throws if a contraction has run since `migrate`: from now on the lease of this process prevents it.
    private static func checkMigrations(
        _ database: ConnectionTarget, within timeout: Duration
    ) async throws(StartError) {
        do throws(PostgresError) {
            try await Migrator(database).check(timeout: timeout)
        } catch {
            throw StartError("The database cannot be used: \(error)")
        }
    }

    private static func makeShards(_ count: Int) throws(StartError) -> [Shard] {
        do throws(SocketError) {
            return try Shard.makeAll(count: count)
        } catch {
            throw StartError("The event loops cannot be made: \(error)")
        }
    }

    /// Connects all parts. No part runs yet.
    private init(
        _ configuration: Configuration, identity: TLSIdentity?, pools: [ShardPools], keeperPool: PostgresPool,
        keeperCounts: Confined<MetricCounts>, metricsShard: Shard?, series: SeriesLimit?, log: Log
    ) {
        let process = ProcessServices(configuration, home: pools[0], keeperPool: keeperPool, log: log)
        let services = ShardedServices(process, pools: pools)
        let registry = UpstreamRegistry(configuration.upstreams, pool: pools[0].pool, log: log) { list, unusable in
            process.slots.update(slots: list.slots)
            services.onEachShard { $0.upstreams.replace(list, unusable: unusable) }
        }
        self.log = log
        self.configuration = configuration
        self.identity = identity
        self.pools = pools
        self.process = process
        self.services = services
        self.registry = registry
        housekeeper = Confined(
            Housekeeper(process, home: pools[0], services: services, registry: registry), to: pools[0].shard)
        let store = DeliveryStore(pool: pools[0].pool)
        deliveries = Confined(
            configuration.hooks.list.filter { $0.events.contains(.end) }.map { [home = pools[0].shard] hook in
                HookDeliveries(to: hook, store: store, memory: process.memory, on: home, log: log) {
                    services.home.value.observeHook($0)
                }
            }, to: pools[0].shard)
        keeper = ProcessKeeper(process, pool: keeperPool) { revoked in
            services.onEachShard { shard in
                shard.authenticator.drop(revoked)
                shard.revocable.end(by: revoked)
            }
        }
        let access = AccessControl(configuration, memory: process.memory, services: services)
        let server = Server(
            process, pools: pools,
            router: Router(services, process: process, registry: registry, access, state: state), access)
        self.server = server
        guard let metricsShard, let series else {
            metrics = nil
            return
        }
        let collector = MetricsCollector(
            process: process, pools: pools, services: services, keeper: (keeperPool, keeperCounts), registry: registry,
            server: server, identity: identity, series: series)
        metrics = MetricsServer(
            collector, on: metricsShard, hosts: configuration.server.browsers, memory: process.memory)
    }

    /// Opens the connections to the database, reads the list of model servers, and begins the rounds of the housekeeper.
    private func openStore() async {
        for pools in pools {
            pools.start()
        }
        await registry.start()
        await keeper.start()
        await process.toolServers.start(within: MCPServers.startLimit)
        await withTaskExecutorPreference(home) { @concurrent [housekeeper, deliveries, process] in
            housekeeper.value.start()
            deliveries.value.forEach { $0.start() }
            process.exporter?.start()
        }
    }

    private func closeOpenTurns() async throws(StartError) {
        do throws(PostgresError) {
            try await withTaskExecutorPreference(home) { @concurrent [housekeeper] () throws(PostgresError) in
                try await housekeeper.value.takeOver()
            }
        } catch {
            throw StartError("The turns that an earlier process left open cannot be closed: \(error)")
        }
    }

    /// Throws if no request could be served: every listener needs keys, the setting does not say so, and there is no key.
    private func requireKey() async throws(StartError) {
        guard configuration.access.needsKeyAtStart else { return }
        do throws(RelayError) {
            guard try await !process.access.store.isAnyValid() else { return }
        } catch {
            throw StartError("The keys of apps cannot be read: \(error)")
        }
        throw StartError(
            "The server listens beyond the loopback, and there is no key. Make one with `chatterd keys create --app NAME`, or set "
                + "CHATTERD_ACCESS=open to serve anyone who reaches the port.")
    }

    private func listen() async throws(StartError) {
        try await listen(on: configuration.server.listen)
        if let tls = configuration.server.tls {
            try await listen(on: tls.listen, tls: identity)
        }
        try await listenForMetrics()
    }

    private func listenForMetrics() async throws(StartError) {
        guard let metrics, let target = configuration.server.metricsListen else { return }
        do throws(SocketError) {
            let address = try await metrics.listen(on: target)
            metricsListener.withLock { $0 = address }
        } catch {
            throw StartError("The server cannot listen for metrics: \(error)")
        }
    }

    private func listen(on target: HostAndPort, tls identity: TLSIdentity? = nil) async throws(StartError) {
        do throws(SocketError) {
            for address in try await Resolver.resolve(target).prefix(1) {
                try server.listen(on: address, tls: identity)
            }
        } catch {
            throw StartError("The server cannot listen: \(error)")
        }
    }

    // MARK: - Run

    /// Reads again: the certificate of HTTPS, the keys and authorities of model servers, and the keys of issuers. If the certificate
    /// cannot be used, the server logs the reason and keeps the old one.
    public func reload() {
        Task { [registry] in await registry.reload() }
        process.issuers.reload()
        process.toolServers.reload()
        guard let identity else { return }
        do {
            try identity.reload()
            log.event(.info, "certificate reloaded")
        } catch {
            log.event(.error, "certificate not reloaded", .error(error.description))
        }
    }

    // MARK: - Stop

    /// Answers `/readyz` with 503 from now on, and returns after `delay`. The server accepts requests until `stop`.
    public func drain(for delay: Duration) async {
        state.drain()
        // The sleep ends early only if the task is cancelled. The stop follows at once then.
        try? await Task.sleep(for: delay)
    }

    /// Stops accepting prompts and waits up to `limit` for running replies. Then it hands the other replies over to other
    /// processes, or ends them. Returns when all replies are stored and all connections are closed.
    ///
    /// It takes at most the sum of `limit` and `CHATTERD_STORE_PATIENCE` (at least five seconds), even if the database hangs. Other
    /// processes close the replies that are not stored then.
    public func stop(within limit: Duration) async {
        state.drain()
        services.onEachShard { shard in
            shard.chat.stopAccepting()
            shard.feeds.stop()
        }
        // On the first shard, to which the timers of the stop are confined.
        await withTaskExecutorPreference(home) { @concurrent [self] in await finish(within: limit) }
        log.flush()
    }

    /// Waits for the replies, then closes everything. Runs on the first shard.
    private func finish(within limit: Duration) async {
        let end = limit + closingTimeout
        let deadline = ContinuousClock.now + end
        let replyTimer = DeadlineTimer(on: home) { [services] in services.onEachShard { $0.chat.endReplies() } }
        replyTimer.set(after: limit)
        // The pools close one second before the deadline, so that readers get an error even if the database hangs.
        let poolTimer = DeadlineTimer(on: home) { [pools, keeper] in
            pools.forEach { $0.giveUp() }
            keeper.pool.giveUp()
        }
        poolTimer.set(after: end - .seconds(1))
        await server.shutDown(within: end)
        // Replies whose clients have left have no connection. At the deadline, other processes close the rest.
        try? await home.withTimeout(deadline - .now) { [process] in await process.turns.waitUntilEmpty() }
        await process.toolServers.stop()
        await keeper.end()
        for hook in deliveries.value {
            await hook.end()
        }
        await housekeeper.value.end()
        process.slots.end()
        await closePools()
        await process.exporter?.end()
        await metrics?.shutDown()
        replyTimer.cancel()
        poolTimer.cancel()
    }

    private func closePools() async {
        for pools in pools {
            await withTaskExecutorPreference(pools.shard) { @concurrent in await pools.shutDown() }
        }
        await keeper.pool.shutDown()
    }

    /// Time after `stop`'s limit to store and send the ends of replies.
    private var closingTimeout: Duration { max(.seconds(5), configuration.relay.storeRetryTimeout) }

    /// Cuts off all connections. The replies that are not stored are lost.
    public func abort() {
        server.abort()
    }
}

/// The step of the start that failed and the reason, as a sentence for the operator.
public struct StartError: Error, Sendable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Whether the server accepts prompts, for `/readyz`. Safe on any thread.
final class ServerState: Sendable {
    private let draining = Atomic<Bool>(false)

    /// Whether the server is stopping.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func drain() {
        draining.store(true, ordering: .relaxed)
    }
}
