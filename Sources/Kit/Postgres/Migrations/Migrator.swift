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
    /// The time between two lines about a back-fill.
    private static let reportInterval = Duration.seconds(10)
    /// The SQLSTATE of a statement whose wait for a lock was too long.
    private static let lockNotAvailable = "55P03"

    /// The setting of the transaction in which the setup notes what it changes, one a line.
    public static let changesSetting = "chatterd.setup_changes"

    private let target: ConnectionTarget
    private let migrations: [Migration]
    private let setup: String?
    private let log: @Sendable (String) -> Void

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

    /// Says what `run` would do, in lines for people, and changes nothing.
    public func plan(contracts: Bool = false, timeout: Duration) async throws(PostgresError) -> [String] {
        try await blocking { () throws(PostgresError) in
            let connection = try connect(until: ContinuousClock.now + timeout, timeout: timeout)
            try connection.execute("BEGIN READ ONLY")
            try limitWaits(connection)
            let lines = try watched(connection, logsWaits: false) { () throws(PostgresError) in
                try planLines(connection, contracts: contracts)
            }
            try connection.execute("ROLLBACK")
            return lines
        }
    }

    /// Runs calls that block on a queue of its own.
    private func blocking<Value: Sendable>(
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

    private func connect(
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
    private func missing(_ differences: [MigrationDifference]) -> [Migration] {
        let names = differences.names(.missing)
        return migrations.filter { names.contains($0.name) }
    }

    /// A description of the live processes that do not know a migration; `nil` if there is none.
    private func olderProcesses(
        than migration: Migration, _ connection: BlockingConnection
    ) throws(PostgresError) -> String? {
        guard try tables(connection).hasProcesses,
            let older = try connection.run(MigrationStatements.olderProcesses(than: migration.name)).first,
            !older.isEmpty
        else { return nil }
        return older
    }

    private func planLines(_ connection: BlockingConnection, contracts: Bool) throws(PostgresError) -> [String] {
        let tables = try tables(connection)
        var missing = migrations
        if tables.hasMigrations {
            let differences = try readDifferences(connection, tables)
            try Self.check(differences)
            missing = self.missing(differences)
        }
        let runsContractions = contracts || !tables.hasMigrations
        var lines: [String] = []
        for migration in missing {
            var course = "runs now"
            if migration.kind == .contract, !runsContractions {
                course = "runs with --contract only"
            } else if migration.kind != .expand, let older = try olderProcesses(than: migration, connection) {
                course = "waits until processes of an older program have ended: \(older)"
            }
            lines.append("\(migration.name) (\(migration.kind.rawValue)): \(course)")
            let locks = migration.locks
            for size in try connection.run(MigrationStatements.sizes(of: locks.map(\.name))) {
                let modes = locks.filter { $0.name == size.name }.map(\.mode)
                lines.append(
                    "    \(modes.joined(separator: ", ")) on \(size.table): \(size.size), about \(size.rows) rows")
            }
        }
        return lines.isEmpty ? [MigrationOutcome.nothing] : lines
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
    private func limitWaits(_ connection: BlockingConnection) throws(PostgresError) {
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

    private func tables(_ connection: BlockingConnection) throws(PostgresError) -> MigrationStatements.Tables {
        guard let tables = try connection.run(Query(MigrationStatements.tables)).first else {
            throw PostgresError(.other, "the server has sent no row")
        }
        return tables
    }

    private func readDifferences(
        _ connection: BlockingConnection, _ tables: MigrationStatements.Tables
    ) throws(PostgresError) -> [MigrationDifference] {
        Array(try connection.run(Self.differences(from: migrations, hasExpansions: tables.hasExpansions)))
    }

    /// Throws if the database has unknown or changed migrations.
    private static func check(_ differences: [MigrationDifference]) throws(PostgresError) {
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

    private func apply(
        _ migration: Migration, _ connection: BlockingConnection, until end: ContinuousClock.Instant
    ) throws(PostgresError) {
        do throws(PostgresError) {
            if migration.steps.isEmpty {
                try watched(connection, logsWaits: false) { () throws(PostgresError) in
                    try connection.execute(migration.sql)
                }
                guard connection.isInTransaction else {
                    throw PostgresError(.other, "it ends its own transaction: leave out BEGIN, COMMIT and ROLLBACK")
                }
            } else {
                // A statement of its own ends the snapshot of the last query, for which an index that is built would wait.
                try connection.execute("SELECT")
                try run(migration.steps, until: end)
            }
            try connection.run(MigrationStatements.record(migration))
        } catch {
            throw PostgresError(
                error.code, "migration \(migration.name): \(error.message)", sqlState: error.sqlState,
                constraint: error.constraint, isSafeToRetry: error.isSafeToRetry)
        }
    }

    /// Runs the steps of a migration on a connection of its own, while the caller's holds the migrators' lock.
    private func run(_ steps: [Migration.Step], until end: ContinuousClock.Instant) throws(PostgresError) {
        let connection = try BlockingConnection(target)
        let remaining = max(1, (end - ContinuousClock.now).nanoseconds / 1_000_000)
        if try connection.ownsSession() {
            // A statement that waits to build an index concurrently delays no other session.
            try connection.execute("SET statement_timeout = 0; SET lock_timeout = \(remaining)")
        }
        for step in steps {
            try watched(connection, logsWaits: true) { () throws(PostgresError) in
                if step.isRepeated {
                    try runRepeatedly(step, connection)
                } else {
                    if let index = step.concurrentIndex,
                        try connection.run(MigrationStatements.isInvalid(index: index)).first == true
                    {
                        log("index \(index) is invalid, because its build has broken off: it is built again")
                        try connection.execute("DROP INDEX CONCURRENTLY \(index)")
                    }
                    try connection.execute(step.sql)
                }
            }
        }
    }

    /// Runs a step until it changes no row. What each run has changed stays, whatever becomes of the next one.
    private func runRepeatedly(_ step: Migration.Step, _ connection: BlockingConnection) throws(PostgresError) {
        let statement = Query(Statement("migration_step", sql: step.sql))
        var (rows, reported) = (0, ContinuousClock.now)
        while true {
            try connection.execute("BEGIN")
            try limitWaits(connection)
            let changed = try connection.run(statement).affectedRows
            try connection.execute("COMMIT")
            guard changed > 0 else { return }
            rows += changed
            if ContinuousClock.now - reported > Self.reportInterval {
                reported = ContinuousClock.now
                log("\(rows) rows filled")
            }
        }
    }

    /// Runs statements, and says who has held them up if a lock was not available in time.
    private func watched<Value>(
        _ connection: BlockingConnection, logsWaits: Bool, _ body: () throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        let session = try connection.run(Query(SessionSettings.serverProcess)).first ?? 0
        let watcher = LockWatcher(session: session, target: target, log: logsWaits ? log : nil)
        do throws(PostgresError) {
            let value = try body()
            _ = watcher.end()
            return value
        } catch {
            let blockers = watcher.end()
            guard error.sqlState == Self.lockNotAvailable else { throw error }
            throw PostgresError(
                .timedOut, "\(error.message): \(blockers)", sqlState: error.sqlState, isSafeToRetry: true)
        }
    }
}
