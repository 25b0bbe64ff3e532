import ChatterdBasics

// Running one migration, whole or in steps.
extension Migrator {
    /// The time between two lines about a back-fill.
    private static let reportInterval = Duration.seconds(10)

    /// Runs a migration, and records it.
    func apply(
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
    func watched<Value>(
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
