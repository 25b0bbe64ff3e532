import ChatterdBasics
import ChatterdSockets
import Dispatch
import Glibc

/// Brings a database to the schema that the program knows.
///
/// Each migration runs in its own transaction, and `chatterd_migrations` records it with its SHA-256. Each transaction begins with
/// an advisory lock of the database, so any number of processes may start at once. The migrator leaves no state on the session, so
/// it works through a pooler that shares sessions by the transaction.
public struct Migrator: Sendable {
    /// The key of the advisory lock: "chatterd" in ASCII.
    private static let lockKey: Int64 = 0x6368_6174_7465_7264
    /// The time in milliseconds that a statement of a migration waits for a lock. Then the transaction is rolled back and tried again, because
    /// the statements of all others wait behind one that waits.
    private static let lockWait: UInt64 = 2_000
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
    ///   `changesSetting`.
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
    /// - Parameter timeout: How long to wait for the server to come up, for another migrator to finish, and for locks of others.
    /// - Throws: `connectionFailed` after the timeout, `migrationChanged`, `databaseTooNew`, `readOnly`, `timedOut` if another
    ///   migrator or another session's lock takes too long, and the error of a migration that the server refuses.
    public func run(timeout: Duration) async throws(PostgresError) -> MigrationOutcome {
        // A queue of its own, because every call blocks.
        let queue = DispatchQueue(label: "chatterd.postgres.migrate")
        let outcome = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(PostgresError) in
                        try migrate(until: ContinuousClock.now + timeout, timeout: timeout)
                    })
            }
        }
        return try outcome.get()
    }

    /// Connects and migrates, and does so again if the connection is lost or others hold a lock: each transaction is applied once,
    /// whatever became of it.
    private func migrate(
        until end: ContinuousClock.Instant, timeout: Duration
    ) throws(PostgresError) -> MigrationOutcome {
        var outcome = MigrationOutcome()
        var backoff = Backoff.connecting
        while true {
            let connection = try connect(until: end, timeout: timeout)
            do throws(PostgresError) {
                try migrate(connection, timeout: timeout, adding: &outcome)
                return outcome
            } catch {
                let pause = backoff.nextShortened()
                let isTemporary =
                    error.code == .connectionLost || error.code == .serializationFailure
                    || error.sqlState == Self.lockNotAvailable
                guard isTemporary, ContinuousClock.now + pause < end else { throw error }
                log(
                    error.code == .connectionLost
                        ? "lost the connection to \(target): \(error.message)"
                        : "\(error.message); trying again for at most \(end - ContinuousClock.now)")
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
        var outcome = MigrationOutcome()
        try migrate(connection, timeout: timeout, adding: &outcome)
        return outcome
    }

    private func migrate(
        _ connection: BlockingConnection, timeout: Duration, adding outcome: inout MigrationOutcome
    ) throws(PostgresError) {
        while let migration = try applyNext(connection, timeout: timeout) {
            log("applied migration \(migration.name)")
            outcome.applied.append(migration.name)
        }
        guard let setup else { return }
        let changes = try inTransaction(connection, timeout: timeout) { () throws(PostgresError) in
            try connection.execute(setup)
            return try connection.run(Query(MigrationStatements.changes)).first ?? ""
        }
        for change in changes.split(separator: "\n").map(String.init) {
            log(change)
            outcome.changes.append(change)
        }
    }

    /// Applies the first migration that the database lacks and returns it, or `nil` if it lacks none.
    ///
    /// The transaction begins with the lock, so it sees what another migrator has applied meanwhile.
    private func applyNext(_ connection: BlockingConnection, timeout: Duration) throws(PostgresError) -> Migration? {
        try inTransaction(connection, timeout: timeout) { () throws(PostgresError) -> Migration? in
            let differences = try differences(connection)
            try Self.check(differences)
            let missing = differences.names(.missing)
            let next = migrations.first { missing.contains($0.name) }
            if let next {
                try apply(next, connection)
            }
            return next
        }
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
            guard error.sqlState == Self.lockNotAvailable else { throw error }
            let holder = try connection.run(
                MigrationStatements.holderOfTables(milliseconds: Self.lockWait)
            ).first
            throw PostgresError(
                .timedOut,
                "\(error.message): the oldest transaction that uses tables is \(holder.map { "that of \($0)" } ?? "over by now")",
                sqlState: error.sqlState, isSafeToRetry: true)
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
        try connection.run(MigrationStatements.setLockTimeout(milliseconds: Self.lockWait))
    }

    /// The query for how a database with a table of applied migrations differs from those of a program: `run` refuses one with unknown or
    /// changed ones.
    public static func differences(from migrations: [Migration]) -> Query<MigrationDifference> {
        MigrationStatements.differences(from: migrations)
    }

    /// How the database differs from the program. Creates the table at the first start.
    private func differences(_ connection: BlockingConnection) throws(PostgresError) -> [MigrationDifference] {
        if try connection.run(Query(MigrationStatements.tableExists)).first != true {
            try connection.execute(MigrationStatements.createTable)
        }
        return Array(try connection.run(Self.differences(from: migrations)))
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

    private func apply(_ migration: Migration, _ connection: BlockingConnection) throws(PostgresError) {
        do throws(PostgresError) {
            try connection.execute(migration.sql)
            guard connection.isInTransaction else {
                throw PostgresError(.other, "it ends its own transaction: leave out BEGIN, COMMIT and ROLLBACK")
            }
            try connection.run(MigrationStatements.record(migration))
        } catch {
            throw PostgresError(
                error.code, "migration \(migration.name): \(error.message)", sqlState: error.sqlState,
                constraint: error.constraint)
        }
    }
}

/// One step of the schema.
public struct Migration: Sendable {
    /// The name, which gives the order and is the key in the table of applied migrations: `0001_conversations`.
    public let name: String
    /// One or more SQL statements; they run in one transaction, and hold no `BEGIN` or `COMMIT`.
    public let sql: String

    public init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }
}
