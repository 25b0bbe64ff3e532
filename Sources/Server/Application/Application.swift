import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The whole server: what `chatterd serve` runs, and what the tests start on port 0.
public final class Application: Sendable {
    private let configuration: Configuration
    private let log: Log
    private let services: [ShardServices]
    private let state: ServerState
    private let server: Server
    private let keeper: Housekeeper
    private let identity: TLSIdentity?
    private let turns: TurnBoard
    private let registry: UpstreamRegistry

    /// The addresses that are listened on: plain HTTP first.
    public var addresses: [SocketAddress] { server.boundAddresses }

    /// The port of plain HTTP.
    public var port: Int { Int(addresses.first?.port ?? 0) }

    /// Waits for the database, migrates it, listens, and returns.
    ///
    /// - Parameter isAlone: whether no other process can be using the database: then turns that were left open are nobody's, and
    ///   the next prompt of their conversations need not wait for a lease to run out.
    public static func start(
        _ configuration: Configuration, isAlone: Bool = false, log: Log
    ) async throws(StartError) -> Application {
        let target = try ConnectionTarget(configuration.store.database)
        let migrator = Migrator(Migration.embedded, target: target) { log.event(.info, "migration", .detail($0)) }
        do {
            _ = try await migrator.run(timeout: configuration.store.startTimeout)
        } catch {
            throw StartError("The database cannot be used: \(error)")
        }
        return try await Application(configuration, target: target, isAlone: isAlone, log: log)
    }

    private init(
        _ configuration: Configuration, target: ConnectionTarget, isAlone: Bool, log: Log
    ) async throws(StartError) {
        self.configuration = configuration
        self.log = log
        do {
            let shards = try Shard.makeAll(count: configuration.server.shards)
            var random = SystemRandomNumberGenerator()
            let memory = MemoryBudget(limit: configuration.server.memory ?? SystemMemory.current.budget) {
                Int(csystem_resident_bytes())
            }
            let lease = ProcessLease(id: ReplyID(using: &random))
            let turns = TurnBoard(limits: RelayLimits(configuration))
            let directory = ReplyDirectory()
            let estimates = TokenEstimates { choice, receipt in
                log.event(
                    .warning, "model server cut the prompt", .upstream(choice.upstream.description.name),
                    .model(choice.model), .count(receipt.promptTokens ?? 0))
            }
            var services: [ShardServices] = []
            for shard in shards {
                services.append(
                    ShardServices(
                        shard: shard, configuration: configuration, target: target, turns: turns,
                        directory: directory, lease: lease, slots: services.first?.slots, estimates: estimates,
                        memory: memory, log: log))
            }
            let journal = Journal(
                services: services.map(\.chat), tick: RelayLimits(configuration).journalTick)
            for service in services {
                service.chat.journal = journal
            }
            let registry = UpstreamRegistry(configuration.upstreams, pool: services[0].pool, log: log) {
                [services] list, unusable in
                let slots = list.compactMap { upstream in
                    upstream.description.slots.map { (upstream.description.name, $0) }
                }
                services[0].slots.update(slots: Dictionary(slots) { first, _ in first })
                for service in services {
                    service.shard.run { service.upstreams.take(list, unusable: unusable) }
                }
            }
            let state = ServerState()
            var environment = Environment()
            environment.onExchangeEnd = { log.record($0) }
            let hints = RefusalHints(configuration.server)
            environment.errorBody = { .error(hints.explained($0)) }
            var policy = configuration.server.browsers
            policy.openRoutes = Route.openRoutes
            server = Server(
                shards: shards, limits: Limits(configuration),
                router: Router(
                    services, registry: registry, state: state, memory: memory, configuration: configuration),
                policy: policy, environment: environment, memory: memory)
            let keeper = Housekeeper(
                store: PostgresConversationStore(
                    pool: services[0].pool, lease: lease, historyLimit: configuration.relay.historyLimit),
                turns: turns, retention: configuration.relay.retention,
                adopt: { [chat = services[0].chat] in try? await chat.adoptAbandoned() },
                resolve: { [chat = services[0].chat] in await chat.resolveUnconfirmed() },
                refreshUpstreams: {
                    Self.trim(memory)
                    // The pool logs the failure. The next round retries.
                    try? await registry.look()
                })
            for service in services {
                service.shard.run { service.pool.start() }
            }
            await registry.start()
            shards[0].run { keeper.start() }
            self.services = services
            self.registry = registry
            self.state = state
            self.keeper = keeper
            self.turns = turns
            if isAlone {
                try await keeper.takeOver()
            }
            identity = try configuration.server.tls.map { try TLSIdentity(certificate: $0.certificate, key: $0.key) }
            try server.listen(on: try await Self.address(of: configuration.server.listen))
            if let tls = configuration.server.tls {
                try server.listen(on: try await Self.address(of: tls.listen), tls: identity)
            }
        } catch let error as SocketError {
            throw StartError("The server cannot listen: \(error)")
        } catch let error as StartError {
            throw error
        } catch {
            throw StartError("The server cannot start: \(error)")
        }
    }

    /// Returns the allocator's free memory to the system if much of the resident memory has no reservation.
    private static func trim(_ memory: MemoryBudget) {
        if memory.update() > memory.limit / 8, memory.isTight {
            csystem_trim_allocator()
            memory.update()
        }
    }

    private static func address(of target: HostAndPort) async throws -> SocketAddress {
        guard let address = try await Resolver.resolve(target).first else {
            throw StartError("\(target) has no address.")
        }
        return address
    }

    /// Reads again what stands in files: the certificate of HTTPS, and keys and authorities of model servers. What is wrong with
    /// the certificate is logged, and the one before stays.
    public func reload() {
        Task { [registry] in await registry.reload() }
        guard let identity else { return }
        do {
            try identity.reload()
            log.event(.info, "certificate reloaded")
        } catch {
            log.event(.error, "certificate not reloaded", .error(error.description))
        }
    }

    /// Answers `/readyz` with 503 from now on, and returns after `delay`. The server accepts requests until `stop`.
    public func drain(for delay: Duration) async {
        state.drain()
        // The sleep ends early only if the task is cancelled. The stop follows at once then.
        try? await Task.sleep(for: delay)
    }

    /// Time after `stop`'s limit to store and send the ends of replies.
    private var closingTimeout: Duration { max(.seconds(5), configuration.store.unavailableTimeout) }

    /// Stops accepting prompts and waits up to `limit` for running replies. Then it hands the other replies over to other
    /// processes, or ends them. Returns when all replies are stored and all connections are closed.
    ///
    /// It takes at most the sum of `limit` and `CHATTERD_STORE_PATIENCE` (at least five seconds), even if the database hangs. Other
    /// processes close the replies that are not stored then.
    public func stop(within limit: Duration) async {
        state.drain()
        for service in services {
            service.shard.run { service.chat.stopAccepting() }
        }
        let end = limit + closingTimeout
        let deadline = ContinuousClock.now + end
        // In a box, as a timer may be made and ended on its shard only.
        let timers = Lock<[DeadlineTimer]>([])
        let shard = services[0].shard
        shard.run { [services] in
            let ending = DeadlineTimer(on: shard) {
                for service in services {
                    service.shard.run { service.chat.endReplies() }
                }
            }
            ending.set(after: limit)
            // The pools give up one second before the deadline, so that readers get an error even if the database hangs.
            let givingUp = DeadlineTimer(on: shard) {
                for service in services {
                    service.pool.giveUp()
                }
            }
            givingUp.set(after: end - .seconds(1))
            timers.withLock { $0 = [ending, givingUp] }
        }
        await server.shutDown(within: end)
        // Replies whose clients have left have no connection, and are not to be lost either.
        while turns.count > 0, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(10))
        }
        // Each on its shard: the thread sanitizer misreads a continuation that another thread resumes before it is awaited.
        await withTaskExecutorPreference(shard) { @concurrent [keeper] in await keeper.end() }
        services[0].slots.end()
        for service in services {
            await withTaskExecutorPreference(service.shard) { @concurrent in
                await service.pool.shutDown()
                await service.readers.shutDown()
            }
        }
        await withCheckedContinuation { continuation in
            shard.run {
                timers.withLock { $0 = [] }
                continuation.resume()
            }
        }
        log.flush()
    }

    /// Cuts everything off; what is not stored is lost.
    public func abort() {
        server.abort()
    }
}

extension Limits {
    /// The limits that the configuration gives.
    init(_ configuration: Configuration) {
        self.init()
        let given = configuration.server
        head.startLine = given.requestLineLimit
        head.total = given.headLimit
        head.fieldLine = given.headLimit
        head.fields = given.fieldsLimit
        body.body = given.bodyLimit
        headDeadline = given.headTimeout
        bodyDeadline = given.bodyTimeout
        bodyRate = given.bodyMinimumRate
        idle = given.idleTimeout
        connections = given.maximumConnections
        writeStall = given.writeTimeout
        // The upstream is paused at the limit; one more read of it may be on its way.
        unsentOutput = given.unsentLimit + 4 * configuration.upstreams.limits.line
    }
}

extension ConnectionTarget {
    /// The database that the configuration names.
    public init(_ database: Configuration.Database) throws(StartError) {
        let text: String
        switch database {
        case .conninfo(let secret): text = secret.value
        case .libpqEnvironment: text = ""
        case .privateCluster, .notGiven:
            throw StartError("No database is given: set DATABASE_URL, or start with --dev for a private PostgreSQL.")
        }
        do throws(PostgresError) {
            try self.init(text)
        } catch {
            throw StartError("DATABASE_URL cannot be read: \(error)")
        }
    }
}
