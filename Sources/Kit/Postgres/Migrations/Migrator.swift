import ChatterdBasics
import ChatterdSockets
import Dispatch
import Glibc

/// Brings a database to the schema that the program knows.
///
/// Each migration runs in its own transaction, and a table records it with its SHA-256: expansions in `chatterd_expansions`, which a
/// program need not know, all others in `chatterd_migrations`. Each transaction begins with an advisory lock of the database, so any number
/// of processes may start at once. The migrator leaves no state on the session, so it works through a pooler that shares sessions by the
/// transaction. A migration in steps is recorded after the last one.
///
/// One that needs a stop waits until no process of an older program is alive. A contraction does so too, and runs on request only, because an older
/// program cannot start after it; in a database without tables it runs at once.
public struct Migrator: Sendable {
    /// The key of the advisory lock: "chatterd" in ASCII.
    private static let lockKey: Int64 = 0x6368_6174_7465_7264
    /// The time in milliseconds that a statement of a migration waits for a lock. Then the transaction is rolled back and tried again, because
    /// the statements of all others wait behind one that waits.
    private static let lockWait: UInt64 = 2_000
    /// The SQLSTATE of a statement whose wait for a lock was too long.
    static let lockNotAvailable = "55P03"

    /// The setting of the transaction in which the setup notes what it changes, one a line.
    public static let changesSetting = "chatterd.setup_changes"

    let target: ConnectionTarget
    let migrations: [Migration]
    private let setup: String?
    let log: @Sendable (String) -> Void

    /// Creates a migrator. Migrations are applied in the order of their names.
    ///
    /// - Parameter setup: one SQL statement that runs after them at each run, changes only what is missing, and notes that in
    ///   `changesSetting`. It does not run on a database with expansions of a newer program.
    public init(
        _ migrations: [Migration], setup: String? = nil, target: ConnectionTarget,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.migrations = migrations.sorted { $0.name < $1.name }
        self.setup = setup
        self.target = target
        self.log = log
    }

    /// Waits for the database, then applies the migrations that it lacks, runs the setup, and returns what both have changed.
    ///
    /// - Parameters:
    ///   - contracts: Whether contractions are applied too.
    ///   - timeout: How long to wait for the server to come up, for another migrator to finish, for older processes to end, and for locks of
    ///     others.
    /// - Throws: `connectionFailed` after the timeout, `migrationChanged`, `databaseTooNew`, `readOnly`, `timedOut` if another
    ///   migrator, an older process or another session's lock takes too long, and the error of a migration that the server refuses.
    public func run(contracts: Bool = false, timeout: Duration) async throws(PostgresError) -> MigrationOutcome {
        try await blocking { () throws(PostgresError) in
            let end = ContinuousClock.now + timeout
            var course = Course(contracts: contracts, end: end, timeout: timeout)
            try persistently(until: end, timeout: timeout) { connection throws(PostgresError) in
                try migrate(connection, &course)
            }
            return course.outcome
        }
    }

    /// Throws what `run` would throw about the migrations of the database. A process calls it when it has its lease: afterwards no contraction
    /// runs that it does not know.
    public func check(timeout: Duration) async throws(PostgresError) {
        try await blocking { () throws(PostgresError) in
            try persistently(until: ContinuousClock.now + timeout, timeout: timeout) {
                connection throws(PostgresError) in
                try inTransaction(connection, timeout: timeout) { () throws(PostgresError) in
                    try Self.check(readDifferences(connection, try tables(connection)))
                }
            }
        }
    }

    /// Runs calls that block on a queue of its own.
    func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let queue = DispatchQueue(label: "chatterd.postgres.migrate")
        let outcome = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(PostgresError) in try body() })
            }
        }
        return try outcome.get()
    }

    /// One run over any number of connections.
    private struct Course {
        /// Whether contractions are applied: by request, or because the database had no tables.
        var contracts: Bool
        let end: ContinuousClock.Instant
        let timeout: Duration
        /// The expansions of a newer program.
        var unknown: [String] = []
        var outcome = MigrationOutcome()
    }

    /// Connects and does something, and does so again if the connection is lost or others hold it up: a migration is applied once,
    /// whatever became of its transaction.
    private func persistently(
        until end: ContinuousClock.Instant, timeout: Duration,
        _ body: (BlockingConnection) throws(PostgresError) -> Void
    ) throws(PostgresError) {
        var backoff = Backoff.connecting
        while true {
            let connection = try connect(until: end, timeout: timeout)
            do throws(PostgresError) {
                return try body(connection)
            } catch {
                let pause = backoff.nextShortened()
                let isTemporary =
                    [.connectionLost, .serializationFailure].contains(error.code)
                    || error.code == .timedOut && [nil, Self.lockNotAvailable].contains(error.sqlState)
                guard isTemporary, ContinuousClock.now + pause < end else { throw error }
                log(
                    error.code == .connectionLost
                        ? "lost the connection to \(target): \(error.message)"
                        : "\(error.message); trying again for at most \((end - ContinuousClock.now).components.seconds) s"
                )
                usleep(UInt32(pause.nanoseconds / 1_000))
            }
        }
    }

    func connect(
        until end: ContinuousClock.Instant, timeout: Duration
    ) throws(PostgresError) -> BlockingConnection {
        var backoff = Backoff.connecting
        var reported: PostgresError?
        while true {
            do {
                return try BlockingConnection(target)
            } catch {
                let pause = backoff.nextShortened()
                guard ContinuousClock.now + pause < end else {
                    throw PostgresError(
                        .connectionFailed, "no connection to \(target) within \(timeout): \(error.message)",
                        isSafeToRetry: true)
                }
                if error != reported {
                    log("waiting for PostgreSQL at \(target): \(error.message)")
                    reported = error
                }
                usleep(UInt32(pause.nanoseconds / 1_000))
            }
        }
    }

    /// Applies the missing migrations. It leaves no lock and no setting on the session, which may be a pooler's.
    func migrate(_ connection: BlockingConnection, timeout: Duration) throws(PostgresError) -> MigrationOutcome {
        var course = Course(contracts: false, end: ContinuousClock.now + timeout, timeout: timeout)
        try migrate(connection, &course)
        return course.outcome
    }

    private func migrate(_ connection: BlockingConnection, _ course: inout Course) throws(PostgresError) {
        while let migration = try applyNext(connection, &course) {
            log("applied migration \(migration.name)")
            course.outcome.applied.append(migration.name)
        }
        if !course.outcome.outstanding.isEmpty {
            log(MigrationOutcome.outstanding(course.outcome.outstanding))
        }
        guard course.unknown.isEmpty else {
            // Its setup knows all rights that it needs; that of this program would take some of them away.
            log(
                "the database is newer by expansions, with which this program works: \(course.unknown.joined(separator: ", "))"
            )
            return
        }
        guard let setup else { return }
        let changes = try inTransaction(connection, timeout: course.timeout) { () throws(PostgresError) in
            try connection.execute(setup)
            return try connection.run(Query(MigrationStatements.changes)).first ?? ""
        }
        for change in changes.split(separator: "\n").map(String.init) {
            log(change)
            course.outcome.changes.append(change)
        }
    }

    /// Applies the first migration that the database lacks, but contractions only if the run has them, and returns it; `nil` if there is none.
    ///
    /// The transaction begins with the lock, so it sees what another migrator has applied meanwhile.
    private func applyNext(
        _ connection: BlockingConnection, _ course: inout Course
    ) throws(PostgresError) -> Migration? {
        try inTransaction(connection, timeout: course.timeout) { () throws(PostgresError) -> Migration? in
            let tables = try tables(connection)
            if !tables.hasMigrations {
                try connection.execute(MigrationStatements.createMigrations)
                course.contracts = true
            }
            let differences = try readDifferences(connection, tables)
            try Self.check(differences)
            let missing = missing(differences)
            course.outcome.outstanding = course.contracts ? [] : missing.filter { $0.kind == .contract }.map(\.name)
            guard let next = missing.first(where: { $0.kind != .contract || course.contracts }) else {
                course.unknown = differences.names(.expansion)
                return nil
            }
            if next.kind == .expand, !tables.hasExpansions {
                try connection.execute(MigrationStatements.createExpansions)
            }
            if next.kind != .expand, let older = try olderProcesses(than: next, connection) {
                throw PostgresError(
                    .timedOut, "migration \(next.name) waits until processes of an older program have ended: \(older)",
                    isSafeToRetry: true)
            }
            try apply(next, connection, until: course.end)
            return next
        }
    }

    /// The migrations that the database lacks, in their order.
    func missing(_ differences: [MigrationDifference]) -> [Migration] {
        let names = differences.names(.missing)
        return migrations.filter { names.contains($0.name) }
    }

    /// A description of the live processes that do not know a migration; `nil` if there is none.
    func olderProcesses(
        than migration: Migration, _ connection: BlockingConnection
    ) throws(PostgresError) -> String? {
        guard try tables(connection).hasProcesses,
            let older = try connection.run(MigrationStatements.olderProcesses(than: migration.name)).first,
            !older.isEmpty
        else { return nil }
        return older
    }

    /// Runs a transaction that begins with the migrators' lock.
    private func inTransaction<Value>(
        _ connection: BlockingConnection, timeout: Duration, _ body: () throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try connection.execute("BEGIN")
        do throws(PostgresError) {
            try lock(connection, timeout: timeout)
        } catch {
            // A lost session has no transaction, so a failed rollback is no news.
            try? connection.execute("ROLLBACK")
            throw error
        }
        do throws(PostgresError) {
            let value = try body()
            try connection.execute("COMMIT")
            return value
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Acquires the migrators' lock until the end of the transaction.
    private func lock(_ connection: BlockingConnection, timeout: Duration) throws(PostgresError) {
        try connection.run(
            MigrationStatements.setLockTimeout(milliseconds: max(1, timeout.nanoseconds / 1_000_000)))
        do {
            try connection.run(MigrationStatements.lock(Self.lockKey))
        } catch  where error.sqlState == Self.lockNotAvailable {
            try connection.execute("ROLLBACK")
            let holder = try connection.run(MigrationStatements.holder(ofLock: Self.lockKey)).first
            let name = holder ?? "a session that is gone by now"
            throw PostgresError(
                .timedOut,
                "the lock for migrations of this database was not free within \(timeout): it was held by \(name)",
                sqlState: error.sqlState, isSafeToRetry: true)
        }
        try limitWaits(connection)
    }

    /// Lets others pass that wait behind a statement of this transaction.
    func limitWaits(_ connection: BlockingConnection) throws(PostgresError) {
        try connection.run(MigrationStatements.setLockTimeout(milliseconds: Self.lockWait))
    }

    /// The query for how a database with a table of applied migrations differs from those of a program: `run` refuses one with unknown or
    /// changed ones.
    ///
    /// - Parameter hasExpansions: Whether the database has the table of expansions.
    public static func differences(
        from migrations: [Migration], hasExpansions: Bool
    ) -> Query<MigrationDifference> {
        MigrationStatements.differences(from: migrations, hasExpansions: hasExpansions)
    }

    func tables(_ connection: BlockingConnection) throws(PostgresError) -> MigrationStatements.Tables {
        guard let tables = try connection.run(Query(MigrationStatements.tables)).first else {
            throw PostgresError(.other, "the server has sent no row")
        }
        return tables
    }

    func readDifferences(
        _ connection: BlockingConnection, _ tables: MigrationStatements.Tables
    ) throws(PostgresError) -> [MigrationDifference] {
        Array(try connection.run(Self.differences(from: migrations, hasExpansions: tables.hasExpansions)))
    }

    /// Throws if the database has unknown or changed migrations.
    static func check(_ differences: [MigrationDifference]) throws(PostgresError) {
        let unknown = differences.names(.unknown)
        guard unknown.isEmpty else {
            throw PostgresError(
                .databaseTooNew,
                """
                the database has migrations that this program does not know: \(unknown.joined(separator: ", ")); \
                start a newer chatterd, or use another database
                """)
        }
        if let changed = differences.names(.changed).first {
            throw PostgresError(
                .migrationChanged,
                """
                migration \(changed) was changed after it was applied to this database; \
                restore its text and put the change into a new migration
                """)
        }
    }
}
