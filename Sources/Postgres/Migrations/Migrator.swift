import ChatterdBasics
import ChatterdSockets
import Dispatch
import Glibc

/// Brings a database to the schema that the program knows.
///
/// Each migration runs in a transaction of its own and is recorded in `chatterd_migrations` with its SHA-256. Each of these
/// transactions begins with an advisory lock of the database: any number of processes may start at once. Nothing belongs to the
/// session, so a migrator works through a pooler that shares sessions by the transaction.
public struct Migrator: Sendable {
    /// The key of the advisory lock: "chatterd" in ASCII.
    private static let lockKey: Int64 = 0x6368_6174_7465_7264

    private let target: ConnectionTarget
    private let migrations: [Migration]
    private let log: @Sendable (String) -> Void

    /// Makes a migrator; the order of the migrations is that of their names.
    public init(
        _ migrations: [Migration], target: ConnectionTarget, log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.migrations = migrations.sorted { $0.name < $1.name }
        self.target = target
        self.log = log
    }

    /// Waits for the database, then applies what it lacks; returns the names of what was applied.
    ///
    /// - Parameter patience: How long to wait for the server to come up, and for another migrator to finish.
    /// - Throws: `connectionFailed` when the patience ends, `migrationChanged`, `databaseTooNew`, `readOnly`, `timedOut` when
    ///   another migrator takes too long, and what a migration itself is refused for.
    public func run(patience: Duration) async throws(PostgresError) -> [String] {
        // A thread of its own: every call blocks.
        let queue = DispatchQueue(label: "chatterd.postgres.migrate")
        let outcome = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(PostgresError) in
                        let connection = try connect(patience: patience)
                        return try migrate(connection, patience: patience)
                    })
            }
        }
        return try outcome.get()
    }

    private func connect(patience: Duration) throws(PostgresError) -> BlockingConnection {
        let end = ContinuousClock.now + patience
        var backoff = Backoff()
        var reported: PostgresError?
        while true {
            do {
                return try BlockingConnection(target)
            } catch {
                let pause = backoff.next()
                guard ContinuousClock.now + pause < end else {
                    throw PostgresError(
                        .connectionFailed, "no connection to \(target) within \(patience): \(error.message)",
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

    /// Applies what the database lacks; leaves no lock and no setting on the session, which may be a pooler's.
    func migrate(_ connection: BlockingConnection, patience: Duration) throws(PostgresError) -> [String] {
        var names: [String] = []
        while let migration = try applyNext(connection, patience: patience) {
            log("applied migration \(migration.name)")
            names.append(migration.name)
        }
        return names
    }

    /// Applies the first migration that the database lacks and returns it, or `nil` if it lacks none.
    ///
    /// One transaction, which begins with the lock: what another migrator has applied meanwhile is seen.
    private func applyNext(_ connection: BlockingConnection, patience: Duration) throws(PostgresError) -> Migration? {
        try connection.execute("BEGIN")
        do throws(PostgresError) {
            try lock(connection, patience: patience)
            let applied = try appliedMigrations(connection)
            try check(applied, connection)
            let next = migrations.first { applied[$0.name] == nil }
            if let next {
                try apply(next, connection)
            }
            try connection.execute("COMMIT")
            return next
        } catch {
            // The first failure is the one to report; a session that is lost has no transaction either.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Takes the migrators' lock until the end of the transaction.
    private func lock(_ connection: BlockingConnection, patience: Duration) throws(PostgresError) {
        let milliseconds = max(1, patience.nanoseconds / 1_000_000)
        _ = try connection.query(
            "SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true)",
            (.text, .text(String(milliseconds))))
        do {
            _ = try connection.query("SELECT pg_advisory_xact_lock($1)", (.int8, .int8(Self.lockKey)))
        } catch  where error.sqlState == "55P03" {
            try connection.execute("ROLLBACK")
            let holder = try holderOfLock(connection) ?? "a session that is gone by now"
            throw PostgresError(
                .timedOut,
                "the lock for migrations of this database was not free within \(patience): it was held by \(holder)",
                sqlState: error.sqlState, isSafeToRetry: true)
        }
        try connection.execute("SET LOCAL lock_timeout TO DEFAULT")
    }

    /// The session that holds the migrators' lock, for people; `nil` if none does.
    private func holderOfLock(_ connection: BlockingConnection) throws(PostgresError) -> String? {
        let rows = try connection.query(
            """
            SELECT format('backend %s (%s)', a.pid, concat_ws(', ', nullif(a.application_name, ''), a.client_addr, a.state))
            FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND (l.classid::int8 << 32) | l.objid::int8 = $1
            """, (.int8, .int8(Self.lockKey)))
        return rows.rowCount > 0 ? rows.string(0, 0) : nil
    }

    /// The checksums of what was applied, by name; makes the table at the first start.
    private func appliedMigrations(_ connection: BlockingConnection) throws(PostgresError) -> [String: String] {
        let table = try connection.query("SELECT to_regclass('chatterd_migrations') IS NOT NULL")
        if table.bool(0, 0) != true {
            try connection.execute(
                """
                CREATE TABLE chatterd_migrations (
                    name text PRIMARY KEY,
                    checksum text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                )
                """)
        }
        let rows = try connection.query("SELECT name, checksum FROM chatterd_migrations ORDER BY name")
        var applied: [String: String] = [:]
        for row in 0..<rows.rowCount {
            applied[rows.string(row, 0) ?? ""] = rows.string(row, 1) ?? ""
        }
        return applied
    }

    /// Refuses a database that is not on the way to this program's schema.
    private func check(_ applied: [String: String], _ connection: BlockingConnection) throws(PostgresError) {
        let known = Set(migrations.map(\.name))
        let unknown = applied.keys.filter { !known.contains($0) }.sorted()
        guard unknown.isEmpty else {
            throw PostgresError(
                .databaseTooNew,
                """
                the database has migrations that this program does not know: \(unknown.joined(separator: ", ")); \
                start a newer chatterd, or use another database
                """)
        }
        for migration in migrations {
            guard let recorded = applied[migration.name] else { continue }
            guard try checksum(of: migration, connection) == recorded else {
                throw PostgresError(
                    .migrationChanged,
                    """
                    migration \(migration.name) was changed after it was applied to this database; \
                    restore its text and put the change into a new migration
                    """)
            }
        }
    }

    /// SHA-256 in hexadecimal digits; the server computes it.
    private func checksum(of migration: Migration, _ connection: BlockingConnection) throws(PostgresError) -> String {
        let result = try connection.query(
            "SELECT encode(sha256($1), 'hex')", (.bytes, .bytes(Array(migration.sql.utf8))))
        return result.string(0, 0) ?? ""
    }

    private func apply(_ migration: Migration, _ connection: BlockingConnection) throws(PostgresError) {
        let checksum = try checksum(of: migration, connection)
        do throws(PostgresError) {
            try connection.execute(migration.sql)
            guard connection.isInTransaction else {
                throw PostgresError(.other, "it ends its own transaction: leave out BEGIN, COMMIT and ROLLBACK")
            }
            _ = try connection.query(
                "INSERT INTO chatterd_migrations (name, checksum) VALUES ($1, $2)",
                (.text, .text(migration.name)), (.text, .text(checksum)))
        } catch {
            throw PostgresError(
                error.code, "migration \(migration.name): \(error.message)", sqlState: error.sqlState,
                constraint: error.constraint)
        }
    }
}
