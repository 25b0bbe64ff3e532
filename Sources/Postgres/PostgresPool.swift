import ChatterdBasics
import ChatterdSockets
import Dispatch

/// The connections of one shard to PostgreSQL. Confined to its shard, apart from `run`, `start` and `shutDown`.
///
/// Batches share connections: a batch goes to the connection with the least on its way, and others are opened while all are busy.
/// A pool lives until `shutDown`.
public final class PostgresPool: @unchecked Sendable {
    /// The shard whose tasks use the pool.
    public let shard: Shard
    let configuration: PostgresConfiguration

    private var connections: [PostgresConnection] = []
    /// Connections being made, on threads of their own: libpq looks up names in between, and that blocks.
    private var connecting = 0
    /// Batches that wait for a connection; those before `firstWaiting` are gone. Their deadline is the end of the timeout.
    private var waiting: [Batch] = []
    private var firstWaiting = 0
    private var inFlightCount = 0
    private var backoff = Backoff()
    /// When the last connection went, or the first could not be made; nothing while one stands.
    private var outageBegan: Instant?
    private var lastError: PostgresError?
    private var isShuttingDown = false
    private var shutdownContinuations: [UnsafeContinuation<Void, Never>] = []
    private lazy var retryTimer: DeadlineTimer? = DeadlineTimer(on: shard) { [unowned self] in connectAsNeeded() }
    private lazy var timeoutTimer: DeadlineTimer? = DeadlineTimer(on: shard) { [unowned self] in endTimedOutBatches() }

    /// Makes a pool without connections.
    public init(_ configuration: PostgresConfiguration, on shard: Shard) {
        self.configuration = configuration
        self.shard = shard
    }

    /// Opens the first connection before anybody needs it, and keeps one open from then on. From any thread.
    public func start() {
        onShard { $0.connectAsNeeded() }
    }

    /// Runs the queries in one transaction: all are done, or none. From any thread, cheapest from the shard.
    ///
    /// The wait cannot be cancelled; it ends with the pool's limits at the latest.
    ///
    /// - Throws: the first query's failure; `overloaded`, `connectionFailed`, `connectionLost`, `timedOut`, `shuttingDown`.
    public func run(_ queries: [Query]) async throws(PostgresError) -> [QueryResult] {
        guard !queries.isEmpty else { return [] }
        guard shard.isCurrent else {
            return try await Task(executorPreference: shard) { await self.outcome(of: queries) }.value.get()
        }
        return try await outcome(of: queries).get()
    }

    private func outcome(of queries: [Query]) async -> Result<[QueryResult], PostgresError> {
        await withUnsafeContinuation { submit(Batch(queries, $0)) }
    }

    /// Runs one query in a transaction of its own.
    ///
    /// - Throws: as `run` of several.
    public func run(_ query: Query) async throws(PostgresError) -> QueryResult {
        try await run([query])[0]
    }

    /// Refuses new batches, waits for those on their way, and closes all connections. From any thread.
    public func shutDown() async {
        await withUnsafeContinuation { continuation in
            onShard { pool in
                pool.isShuttingDown = true
                pool.shutdownContinuations.append(continuation)
                pool.finishShutdown()
            }
        }
    }

    /// Refuses new batches, fails all others and closes all connections, for a process that ends while the server hangs. From any
    /// thread.
    public func giveUp() {
        onShard { pool in
            pool.isShuttingDown = true
            while pool.waitingCount > 0 {
                pool.takeWaiting().fail(PostgresError(.shuttingDown, "the pool is shutting down", isSafeToRetry: true))
            }
            for connection in pool.connections {
                connection.giveUp()
            }
            pool.finishShutdown()
        }
    }

    private func onShard(_ body: @escaping @Sendable (PostgresPool) -> Void) {
        if shard.isCurrent {
            body(self)
        } else {
            shard.run { body(self) }
        }
    }

    // MARK: - Health

    /// How the pool is, at a moment. Confined to its shard.
    public var health: PostgresHealth {
        PostgresHealth(
            connections: connections.count, inFlight: inFlightCount, waiting: waitingCount, lastError: lastError)
    }

    // MARK: - Batches

    private var waitingCount: Int { waiting.count - firstWaiting }

    private func submit(_ batch: Batch) {
        if isShuttingDown {
            batch.fail(PostgresError(.shuttingDown, "the pool is shutting down", isSafeToRetry: true))
        } else if inFlightCount + waitingCount >= configuration.maximumWaiting {
            batch.fail(
                PostgresError(
                    .overloaded, "\(configuration.maximumWaiting) batches are waiting already", isSafeToRetry: true))
        } else {
            dispatch(batch)
        }
    }

    private func dispatch(_ batch: Batch) {
        if waitingCount == 0, let connection = leastLoaded() {
            let wasIdle = connection.load == 0
            inFlightCount += 1
            connection.send(batch)
            if !wasIdle {
                connectAsNeeded()
            }
            return
        }
        let timeout = configuration.connectionTimeout
        batch.deadline = max(
            shard.now, connections.isEmpty ? (outageBegan ?? shard.now) + timeout : shard.now + timeout)
        if batch.deadline <= shard.now {
            batch.fail(outageError)
            connectAsNeeded()
            return
        }
        waiting.append(batch)
        if waitingCount == 1 {
            timeoutTimer?.set(at: batch.deadline)
        }
        connectAsNeeded()
    }

    /// The connection with the least on its way that takes more.
    private func leastLoaded() -> PostgresConnection? {
        var best: PostgresConnection?
        var least = configuration.pipelineDepth
        for connection in connections where !connection.isRetired && connection.load < least {
            best = connection
            least = connection.load
        }
        return best
    }

    /// Called for every batch that was sent, once its outcome is known.
    func finished(_ batch: Batch) {
        inFlightCount -= 1
        if batch.isToBeRepeated {
            batch.reset()
            dispatch(batch)
        } else if let error = batch.error {
            batch.fail(error)
        } else if batch.hasAllResults {
            batch.succeed()
        } else {
            batch.fail(PostgresError(.other, "the server's answers do not match the queries"))
        }
    }

    /// Called when a connection has taken what the server sent.
    func connectionProgressed(_ connection: PostgresConnection) {
        if connection.isRetired, connection.load == 0, remove(connection) {
            connection.close()
        }
        sendWaiting()
        connectAsNeeded()
        finishShutdown()
    }

    private func sendWaiting() {
        while waitingCount > 0, let connection = leastLoaded() {
            inFlightCount += 1
            connection.send(takeWaiting())
        }
    }

    private func takeWaiting() -> Batch {
        let batch = waiting[firstWaiting]
        firstWaiting += 1
        if firstWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
        } else if firstWaiting > 64, firstWaiting > waiting.count / 2 {
            waiting.removeSubrange(..<firstWaiting)
            firstWaiting = 0
        }
        return batch
    }

    private func endTimedOutBatches() {
        while waitingCount > 0, waiting[firstWaiting].deadline <= shard.now {
            let error =
                connections.isEmpty
                ? outageError
                : PostgresError(
                    .overloaded, "no connection was free within \(configuration.connectionTimeout)", isSafeToRetry: true
                )
            takeWaiting().fail(error)
        }
        if waitingCount > 0 {
            timeoutTimer?.set(at: waiting[firstWaiting].deadline)
        }
        finishShutdown()
    }

    private var outageError: PostgresError {
        PostgresError(
            .connectionFailed, lastError?.message ?? "no connection within \(configuration.connectionTimeout)",
            isSafeToRetry: true)
    }

    // MARK: - Connections

    /// Opens a connection when none stands, or all are busy; after a failure only one at a time, and not before its time.
    private func connectAsNeeded() {
        guard !isShuttingDown || waitingCount > 0, connections.count + connecting < configuration.connections else {
            return
        }
        let isNeeded = connections.isEmpty ? connecting == 0 || waitingCount > connecting : isBusy && connecting == 0
        guard isNeeded, retryTimer?.isSet != true, backoff.failures == 0 || connecting == 0 else { return }
        connecting += 1
        if connections.isEmpty, outageBegan == nil {
            outageBegan = shard.now
        }
        let configuration = configuration
        // A queue of its own: a thread that blocks must not be one of the few that all share.
        DispatchQueue(label: "chatterd.postgres.connect").async {
            let outcome = Result { () throws(PostgresError) in try Self.connect(configuration) }
            self.shard.run { self.connected(outcome) }
        }
    }

    private var isBusy: Bool {
        waitingCount > 0 || connections.allSatisfy { $0.load > 0 }
    }

    /// Makes a connection and, unless a pooler lends it, its session; blocks.
    private static func connect(_ configuration: PostgresConfiguration) throws(PostgresError) -> EstablishedConnection {
        let connection = try BlockingConnection(configuration.target)
        let ownsSession = try connection.ownsSession()
        if ownsSession {
            _ = try connection.query(
                SessionSettings.statement.sql,
                (.text, .text(SessionSettings.statementTimeout(configuration.timeLimit))), (.boolean, .boolean(false)))
        }
        return EstablishedConnection(connection: connection, ownsSession: ownsSession)
    }

    private func connected(_ outcome: Result<EstablishedConnection, PostgresError>) {
        connecting -= 1
        guard !isShuttingDown || waitingCount > 0 else { return }
        do {
            let connection = try PostgresConnection(outcome.get(), pool: self)
            connections.append(connection)
            backoff.reset()
            outageBegan = nil
            lastError = nil
            sendWaiting()
        } catch {
            failedToConnect(error)
        }
        connectAsNeeded()
    }

    private func failedToConnect(_ error: PostgresError) {
        if lastError != error {
            configuration.log("postgres: \(configuration.target): \(error)")
        }
        lastError = error
        retryTimer?.set(after: backoff.next())
    }

    /// Called when a connection broke; its batches are failed next.
    func ended(_ connection: PostgresConnection, _ error: PostgresError) {
        guard remove(connection) else { return }
        configuration.log("postgres: \(configuration.target): \(error)")
        if connections.isEmpty {
            lastError = error
            outageBegan = shard.now
        }
        connectAsNeeded()
    }

    private func remove(_ connection: PostgresConnection) -> Bool {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return false }
        connections.remove(at: index)
        return true
    }

    private func finishShutdown() {
        guard isShuttingDown, inFlightCount == 0, waitingCount == 0 else { return }
        for connection in connections {
            connection.close()
        }
        connections = []
        // Timers end on their shard, whoever lets go of the pool.
        retryTimer = nil
        timeoutTimer = nil
        for continuation in shutdownContinuations {
            continuation.resume()
        }
        shutdownContinuations = []
    }
}
