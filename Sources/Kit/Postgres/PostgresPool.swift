import ChatterdBasics
import ChatterdSockets
import Dispatch

/// The connections of one shard to PostgreSQL.
///
/// Batches share connections: a batch goes to the connection with the fewest unanswered batches, and the pool opens more
/// connections while all are busy. No batch goes behind one that stalls while another connection can be had. A pool lives until `shutDown`.
///
/// The class is `@unchecked Sendable` because `run`, `start`, `shutDown` and `giveUp` may be called on any thread; they move to the
/// shard, to which all other members are confined.
public final class PostgresPool: @unchecked Sendable {
    /// The shard whose tasks use the pool.
    public let shard: Shard
    let configuration: PostgresConfiguration
    /// What keeps the pools of this process from storing.
    public var health: PoolHealth { configuration.health }
    /// Runs the batches for which this pool can open no connection; `nil` lets them wait.
    private let fallback: PostgresPool?

    private(set) var connections: [PostgresConnection] = []
    /// The number of connections being opened. Each has its own thread, because libpq blocks while it looks up names.
    private var connecting = 0
    /// Batches that wait for a connection. Their deadline is the end of the timeout.
    private var waiting = Queue<Batch>()
    /// The number of batches that were sent and not answered.
    private(set) var inFlightCount = 0
    private var backoff = Backoff.connecting
    /// The instant at which the last connection broke or the first could not be opened; `nil` while there is a connection.
    private var outageBegan: Instant?
    /// The error by which the last connection broke or could not be opened; `nil` while there is a connection.
    private(set) var lastError: PostgresError?
    private var isShuttingDown = false
    private var shutdownContinuations: [UnsafeContinuation<Void, Never>] = []
    private lazy var retryTimer: DeadlineTimer? = DeadlineTimer(on: shard) { [unowned self] in connectAsNeeded() }
    private lazy var timeoutTimer: DeadlineTimer? = DeadlineTimer(on: shard) { [unowned self] in endTimedOutBatches() }

    /// Creates a pool without connections.
    ///
    /// - Parameter fallback: another pool for the same database, which runs the batches for which this pool can open no connection: the
    ///   server may allow fewer connections than all pools want.
    public init(_ configuration: PostgresConfiguration, on shard: Shard, fallback: PostgresPool? = nil) {
        self.configuration = configuration
        self.shard = shard
        self.fallback = fallback
    }

    /// Opens the first connection before it is needed, and keeps one open from then on. Safe on any thread.
    public func start() {
        onShard { $0.connectAsNeeded() }
    }

    /// Runs a transaction. Safe on any thread, and cheapest on the shard.
    ///
    /// The wait cannot be cancelled. The pool's timeouts bound it.
    ///
    /// - Throws: the error of the first query that fails; `overloaded`, `connectionFailed`, `connectionLost`, `timedOut`,
    ///   `shuttingDown`.
    public func run(_ transaction: Transaction) async throws(PostgresError) -> Transaction.Results {
        Transaction.Results(try await run(transaction.queries))
    }

    /// Runs one query in its own transaction.
    ///
    /// - Throws: the errors of `run(_ transaction:)`.
    @inlinable
    public func run<Record>(_ query: Query<Record>) async throws(PostgresError) -> Rows<Record> {
        var transaction = Transaction()
        let step = transaction.add(query)
        return Rows(try await run(transaction.queries)[step.index], decode: query.decode)
    }

    @usableFromInline func run(_ queries: [BoundStatement]) async throws(PostgresError) -> [QueryResult] {
        guard !queries.isEmpty else { return [] }
        do throws(PostgresError) {
            return try await runHere(queries)
        } catch {
            guard let fallback, error.code == .connectionFailed, error.isSafeToRetry else { throw error }
            return try await fallback.run(queries)
        }
    }

    private func runHere(_ queries: [BoundStatement]) async throws(PostgresError) -> [QueryResult] {
        guard shard.isCurrent else {
            return try await Task(executorPreference: shard) { await self.outcome(of: queries) }.value.get()
        }
        return try await outcome(of: queries).get()
    }

    private func outcome(of queries: [BoundStatement]) async -> Result<[QueryResult], PostgresError> {
        await withUnsafeContinuation { submit(Batch(queries, $0)) }
    }

    /// Refuses new batches, waits for the others, and closes all connections. Safe on any thread.
    public func shutDown() async {
        await withUnsafeContinuation { continuation in
            onShard { pool in
                pool.isShuttingDown = true
                pool.shutdownContinuations.append(continuation)
                pool.finishShutdown()
            }
        }
    }

    /// Refuses new batches, fails all others and closes all connections, for a process that stops while the server hangs. Safe on
    /// any thread.
    public func giveUp() {
        onShard { pool in
            pool.isShuttingDown = true
            for batch in pool.waiting.removeAll() {
                pool.fail(batch, PostgresError(.shuttingDown, "the pool is shutting down", isSafeToRetry: true))
            }
            for connection in pool.connections {
                connection.giveUp()
            }
            pool.finishShutdown()
        }
    }

    private var now: Instant { shard.now }

    private func onShard(_ body: @escaping @Sendable (PostgresPool) -> Void) {
        if shard.isCurrent {
            body(self)
        } else {
            shard.run { body(self) }
        }
    }

    /// What the pool does at this moment; called on the shard.
    public var figures: PoolFigures {
        let busy = connections.count(where: { $0.load > 0 })
        return PoolFigures(
            busy: busy, idle: connections.count - busy, connecting: connecting, waiting: waiting.count)
    }

    // MARK: - Batches

    private func submit(_ batch: Batch) {
        batch.begun = now
        if isShuttingDown {
            fail(batch, PostgresError(.shuttingDown, "the pool is shutting down", isSafeToRetry: true))
        } else if inFlightCount + waiting.count >= configuration.maximumWaiting {
            fail(
                batch,
                PostgresError(
                    .overloaded, "\(configuration.maximumWaiting) batches are waiting already", isSafeToRetry: true))
        } else {
            dispatch(batch)
        }
    }

    private func dispatch(_ batch: Batch) {
        if waiting.isEmpty, let connection = leastLoaded() {
            let wasIdle = connection.load == 0
            inFlightCount += 1
            connection.send(batch)
            if !wasIdle {
                connectAsNeeded()
            }
            return
        }
        let start = connections.isEmpty ? outageBegan ?? now : now
        batch.deadline = max(now, start + configuration.connectionTimeout)
        if batch.deadline <= now || isLeftToFallback {
            fail(batch, outageError)
            connectAsNeeded()
            return
        }
        waiting.append(batch)
        if waiting.count == 1 {
            timeoutTimer?.set(at: batch.deadline)
        }
        connectAsNeeded()
    }

    /// The connection with the fewest unanswered batches, among those that accept more and do not stall. If all of those stall, it is one of
    /// them, unless another connection is on its way.
    private func leastLoaded() -> PostgresConnection? {
        var best: PostgresConnection?
        var least = Int.max
        var hasStalled = false
        for connection in connections where connection.acceptsBatch && connection.load < least {
            if connection.isStalled {
                hasStalled = true
            } else {
                best = connection
                least = connection.load
            }
        }
        guard best == nil, hasStalled, connecting == 0, !canConnect else { return best }
        return connections.filter(\.acceptsBatch).min { $0.load < $1.load }
    }

    /// Whether batches go to the other pool at once: there is no connection, and the last attempt to open one failed.
    private var isLeftToFallback: Bool { fallback != nil && connections.isEmpty && lastError != nil }

    /// Whether another connection may be opened now.
    private var canConnect: Bool {
        !isShuttingDown && connections.count + connecting < configuration.connections && retryTimer?.isSet != true
    }

    /// Reports the outcome of a batch that was sent. Its connection calls this.
    func finished(_ batch: Batch) {
        inFlightCount -= 1
        if batch.isToBeRepeated {
            batch.reset()
            dispatch(batch)
        } else if let error = batch.error {
            health.failed(error)
            fail(batch, error)
        } else if batch.hasAllResults {
            configuration.onBatchEnd(now - batch.begun, nil)
            batch.succeed()
        } else {
            fail(batch, PostgresError(.other, "the server's answers do not match the queries"))
        }
    }

    private func fail(_ batch: Batch, _ error: PostgresError) {
        configuration.onBatchEnd(now - batch.begun, error)
        batch.fail(error)
    }

    /// Reports that a connection has read the server's answers. The connection calls this.
    func connectionProgressed(_ connection: PostgresConnection) {
        if connection.isRetired, connection.load == 0, remove(connection) {
            connection.close()
        }
        sendWaiting()
        connectAsNeeded()
        finishShutdown()
    }

    private func sendWaiting() {
        while !waiting.isEmpty, let connection = leastLoaded(), let batch = waiting.popFirst() {
            inFlightCount += 1
            connection.send(batch)
        }
    }

    private func endTimedOutBatches() {
        while let first = waiting.first, first.deadline <= now, let batch = waiting.popFirst() {
            // With a fallback, a connection that is busy for so long is as good as none.
            let error =
                connections.isEmpty || fallback != nil
                ? outageError
                : PostgresError(
                    .overloaded, "no connection was free within \(configuration.connectionTimeout)", isSafeToRetry: true
                )
            fail(batch, error)
        }
        if let first = waiting.first {
            timeoutTimer?.set(at: first.deadline)
        }
        finishShutdown()
    }

    private var outageError: PostgresError {
        PostgresError(
            .connectionFailed, lastError?.message ?? "no connection within \(configuration.connectionTimeout)",
            isSafeToRetry: true)
    }

    // MARK: - Connections

    /// Opens a connection if there is none or all are busy. After a failure it opens one at a time, and only after the back-off.
    private func connectAsNeeded() {
        guard !isShuttingDown || !waiting.isEmpty, connections.count + connecting < configuration.connections else {
            return
        }
        let isNeeded = connections.isEmpty ? connecting == 0 || waiting.count > connecting : isBusy && connecting == 0
        guard isNeeded, retryTimer?.isSet != true, backoff.failures == 0 || connecting == 0 else { return }
        connecting += 1
        if connections.isEmpty, outageBegan == nil {
            outageBegan = now
        }
        let configuration = configuration
        let begun = now
        // A queue of its own, because a blocked thread must not come from the shared pool of threads.
        DispatchQueue(label: "chatterd.postgres.connect").async {
            let outcome = Result { () throws(PostgresError) in
                Confined(try Self.connect(configuration, begun: begun), to: self.shard)
            }
            self.shard.run { self.connected(outcome) }
        }
    }

    private var isBusy: Bool {
        !waiting.isEmpty || connections.allSatisfy { $0.load > 0 }
    }

    /// Opens a connection and sets up its session, unless a pooler lends the session. Blocks.
    private static func connect(
        _ configuration: PostgresConfiguration, begun: Instant
    ) throws(PostgresError) -> EstablishedConnection {
        let connection = try BlockingConnection(configuration.target)
        let ownsSession = try connection.ownsSession()
        if ownsSession {
            try connection.run(SessionSettings.set(timeLimit: configuration.timeLimit, forTransaction: false))
        }
        return EstablishedConnection(connection: connection, ownsSession: ownsSession, begun: begun)
    }

    private func connected(_ outcome: Result<Confined<EstablishedConnection>, PostgresError>) {
        connecting -= 1
        guard !isShuttingDown || !waiting.isEmpty else { return }
        do {
            let connection = try PostgresConnection(outcome.get().value, pool: self)
            connections.append(connection)
            backoff.reset()
            outageBegan = nil
            lastError = nil
            health.connected(self)
            sendWaiting()
        } catch {
            failedToConnect(error)
        }
        connectAsNeeded()
        finishShutdown()
    }

    private func failedToConnect(_ error: PostgresError) {
        if lastError != error {
            configuration.log("postgres: \(configuration.target): \(error)")
        }
        lastError = error
        if connections.isEmpty, fallback == nil {
            health.disconnected(self, error)
        }
        retryTimer?.set(after: backoff.nextShortened())
        if isLeftToFallback {
            for batch in waiting.removeAll() { fail(batch, outageError) }
        }
        // Batches that waited for this connection go behind the others.
        sendWaiting()
    }

    /// Removes a broken connection. The connection calls this, and then fails its batches.
    func ended(_ connection: PostgresConnection, _ error: PostgresError) {
        guard remove(connection) else { return }
        configuration.log("postgres: \(configuration.target): \(error)")
        if connections.isEmpty {
            lastError = error
            outageBegan = now
        }
        connectAsNeeded()
    }

    private func remove(_ connection: PostgresConnection) -> Bool {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return false }
        connections.remove(at: index)
        return true
    }

    private func finishShutdown() {
        guard isShuttingDown, inFlightCount == 0, waiting.isEmpty else { return }
        for connection in connections {
            connection.close()
        }
        connections = []
        health.connected(self)
        // A timer must end on its shard, and the pool may be released on any thread.
        retryTimer = nil
        timeoutTimer = nil
        for continuation in shutdownContinuations {
            continuation.resume()
        }
        shutdownContinuations = []
    }
}

/// The connections of a pool, and the batches that wait for one.
public struct PoolFigures: Sendable, Equatable {
    /// Connections that run batches.
    public let busy: Int
    public let idle: Int
    /// Connections that are being opened.
    public let connecting: Int
    public let waiting: Int
}
