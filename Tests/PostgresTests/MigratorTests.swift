import ChatterdTestSupport
import Dispatch
import Testing

@testable import ChatterdPostgres

@Suite(.timeLimit(.minutes(30))) struct MigratorTests {
    private static let notes = Migration(
        name: "0001_notes", sql: "CREATE TABLE notes (id int8 PRIMARY KEY); INSERT INTO notes VALUES (1);")
    private static let more = Migration(name: "0002_more", sql: "ALTER TABLE notes ADD COLUMN text text DEFAULT 'é'")

    private func migrate(
        _ database: String, _ migrations: [Migration], timeout: Duration = .seconds(600)
    ) async throws -> [String] {
        try await Migrator(migrations, target: ConnectionTarget(database)).run(timeout: timeout).applied
    }

    /// The failure of a run.
    private func failure(
        _ database: String, _ migrations: [Migration], timeout: Duration = .seconds(600)
    ) async throws -> PostgresError {
        let error = await #expect(throws: PostgresError.self) {
            _ = try await migrate(database, migrations, timeout: timeout)
        }
        return try #require(error)
    }

    @Test func migrationsAreAppliedOnceInTheOrderOfTheirNames() async throws {
        let database = try freshDatabase()
        #expect(try await migrate(database, [Self.more, Self.notes]) == ["0001_notes", "0002_more"])
        #expect(try await migrate(database, [Self.more, Self.notes]).count == 0)
        let cluster = try PrivateCluster.shared()
        #expect(try cluster.query("SELECT * FROM notes", database: database) == [["1", "é"]])
        let rows = try cluster.query(
            "SELECT name, length(checksum), applied_at <= now() FROM chatterd_migrations ORDER BY 1",
            database: database)
        #expect(rows == [["0001_notes", "64", "t"], ["0002_more", "64", "t"]])
    }

    /// A setup that adds a missing row.
    private static let setup = """
        WITH added AS (INSERT INTO notes SELECT 2 WHERE NOT EXISTS (SELECT FROM notes WHERE id = 2) RETURNING id)
        SELECT set_config('\(Migrator.changesSetting)', 'added ' || id || E'\\nand said so', true) FROM added
        """

    @Test func outcomeSaysWhatTheSetupHasChanged() async throws {
        let target = try ConnectionTarget(try freshDatabase())
        let lines = LogLines()
        let migrator = Migrator([Self.notes], setup: Self.setup, target: target, log: { lines.append($0) })
        let first = try await migrator.run(timeout: .seconds(600))
        #expect(first.applied == ["0001_notes"] && first.changes == ["added 2", "and said so"])
        #expect(first.description == "applied 0001_notes\nadded 2\nand said so")
        #expect(lines.all == ["applied migration 0001_notes", "added 2", "and said so"])
        let second = try await migrator.run(timeout: .seconds(600))
        #expect(second.description == "nothing to migrate")
    }

    @Test func laterMigrationIsAppliedToAnOlderDatabase() async throws {
        let database = try freshDatabase()
        #expect(try await migrate(database, [Self.notes]) == ["0001_notes"])
        #expect(try await migrate(database, [Self.notes, Self.more]) == ["0002_more"])
    }

    @Test func manyMigratorsAtOnceApplyEachMigrationOnce() async throws {
        let database = try freshDatabase()
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<4 {
                group.addTask { try await migrate(database, [Self.notes, Self.more]) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied.sorted() == ["0001_notes", "0002_more"])
    }

    @Test func failedMigrationIsRolledBackAndNamed() async throws {
        let database = try freshDatabase()
        let broken = Migration(name: "0003_broken", sql: "CREATE TABLE half (id int8); SELECT nonsense FROM half;")
        let error = try await failure(database, [Self.notes, broken])
        #expect(error.code == .undefinedObject)
        #expect(error.message.contains("0003_broken"))
        let rows = try PrivateCluster.shared().query(
            "SELECT (SELECT count(*) FROM chatterd_migrations), to_regclass('half')", database: database)
        #expect(rows == [["1", "<null>"]])
    }

    @Test func migrationMayNotEndItsTransaction() async throws {
        let database = try freshDatabase()
        let error = try await failure(database, [Migration(name: "0001_commit", sql: "CREATE TABLE a (); COMMIT;")])
        #expect(error.message.contains("COMMIT"))
    }

    @Test func changedMigrationIsRefused() async throws {
        let database = try freshDatabase()
        _ = try await migrate(database, [Self.notes])
        let changed = Migration(name: Self.notes.name, sql: Self.notes.sql + " ")
        let error = try await failure(database, [changed, Self.more])
        #expect(error.code == .migrationChanged)
        #expect(error.message.contains("0001_notes"))
    }

    @Test func databaseOfANewerProgramIsRefused() async throws {
        let database = try freshDatabase()
        _ = try await migrate(database, [Self.notes, Self.more])
        let error = try await failure(database, [Self.notes])
        #expect(error.code == .databaseTooNew)
        #expect(error.message.contains("0002_more"))
    }

    @Test func readOnlyDatabaseHasItsOwnError() async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        _ = try await migrate(database, [Self.notes])
        try await blocking { try cluster.setReadOnly(true, database: database) }
        #expect(try await failure(database, [Self.notes, Self.more]).code == .readOnly)
        // A run that applies no migration writes no row.
        #expect(try await migrate(database, [Self.notes]).count == 0)
    }

    @Test func migratorWaitsForTheServer() async throws {
        let cluster = try await blocking {
            let cluster = try PrivateCluster.make()
            try cluster.stop()
            return cluster
        }
        let lines = LogLines()
        let migrator = Migrator(
            [Self.notes], target: try ConnectionTarget(cluster.conninfo(database: "postgres")),
            log: { lines.append($0) })
        async let applied = migrator.run(timeout: .seconds(600))
        try await blocking {
            try eventually("it waits") { lines.all.contains { $0.contains("waiting for PostgreSQL") } }
            try cluster.start()
        }
        #expect(try await applied.applied == ["0001_notes"])
    }

    @Test func migratorThatLosesItsConnectionContinues() async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        startThread {
            _ = try? cluster.query(
                "SELECT pg_advisory_lock(x'6368617474657264'::int8), pg_sleep(3600)", database: database)
        }
        let held = """
            SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
            WHERE locktype = 'advisory' AND datname = current_database()
            """
        try await blocking {
            try eventually("the lock is held", isTrue: { try cluster.query(held, database: database) == [["1"]] })
        }
        async let applied = migrate(database, [Self.notes])
        try await blocking {
            try eventually("the migrator waits", isTrue: { try cluster.query(held, database: database) == [["2"]] })
            try cluster.terminateBackends(of: database)
        }
        #expect(try await applied == ["0001_notes"])
    }

    @Test func migratorFailsAfterItsTimeout() async throws {
        let error = try await failure("host=/nowhere", [Self.notes], timeout: .milliseconds(200))
        #expect(error.code == .connectionFailed)
    }

    @Test func waitForAHangingMigratorIsBounded() async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        startThread {
            // A session holds the migrators' lock, and fails when its backend is terminated.
            _ = try? cluster.query(
                "SELECT pg_advisory_lock(x'6368617474657264'::int8), pg_sleep(3600)", database: database)
        }
        try await blocking {
            try eventually("the lock is held") {
                try cluster.query(
                    "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
                    database: database
                ).count == 1
            }
        }
        // The timeout is for the lock: a connection that took longer than libpq waits would not be tried again.
        let target = database + " connect_timeout=600"
        let error = try await failure(target, [Self.notes], timeout: .milliseconds(300))
        #expect(error.code == .timedOut)
        // The message names the session that holds the lock, which need not be a migrator.
        #expect(error.message.contains("it was held by backend "))
        #expect(error.message.contains("active)"))
        try await blocking { try cluster.terminateBackends(of: database) }
    }

    /// Opens a transaction that has read the notes, on a thread, until `end` is signalled.
    private func readNotes(in database: String, until end: DispatchSemaphore) async throws {
        let target = try ConnectionTarget(database + " application_name=report")
        startThread {
            guard let connection = try? BlockingConnection(target) else { return }
            try? connection.execute("BEGIN; SELECT FROM notes")
            end.wait()
            try? connection.execute("COMMIT")
        }
        try await blocking {
            try eventually("the notes are read") {
                try PrivateCluster.shared().query(
                    "SELECT FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
                    database: database
                ).count == 1
            }
        }
    }

    /// An open transaction that has read a table stops a migration of it. The migrator names it, and lets others read in between.
    @Test func migratorNamesTheSessionThatHoldsTheLock() async throws {
        let database = try freshDatabase()
        _ = try await migrate(database, [Self.notes])
        let (lines, end) = (LogLines(), DispatchSemaphore(value: 0))
        defer { end.signal() }
        try await readNotes(in: database, until: end)
        let migrator = Migrator(
            [Self.notes, Self.more], target: try ConnectionTarget(database), log: { lines.append($0) })
        async let applied = migrator.run(timeout: .seconds(600))
        try await blocking {
            let attempts = { lines.all.filter { $0.contains("trying again") } }
            // On a machine that stands still the migrator may ask too late.
            try eventually("two attempts, one of which names the session") {
                attempts().count >= 2
                    && attempts().contains {
                        $0.contains("migration 0002_more: ")
                            && $0.contains("the AccessExclusiveLock on notes is held up by backend ")
                            && $0.contains(" (postgres, report, idle in transaction, in its transaction for ")
                    }
            }
            // Others wait for the migrator, and not until the open transaction ends.
            _ = try PrivateCluster.shared().query("SELECT FROM notes", database: database)
            end.signal()
        }
        #expect(try await applied.applied == ["0002_more"])
    }

    @Test func waitForTheLockOfATableIsBounded() async throws {
        let database = try freshDatabase()
        _ = try await migrate(database, [Self.notes])
        let end = DispatchSemaphore(value: 0)
        defer { end.signal() }
        try await readNotes(in: database, until: end)
        let target = database + " connect_timeout=600"
        let error = try await failure(target, [Self.notes, Self.more], timeout: .milliseconds(300))
        #expect(error.code == .timedOut)
        // The watcher may ask too late for the session that holds the lock.
        #expect(error.message.contains("migration 0002_more: "))
        #expect(error.message.contains("held up by") || error.message.contains("holds it up"))
    }

    @Test func migratorLeavesItsSessionUnchanged() async throws {
        let target = try ConnectionTarget(try freshDatabase())
        let migrator = Migrator([Self.notes, Self.more], target: target)
        try await blocking {
            let connection = try BlockingConnection(target)
            let session = Statement(
                "session",
                sql: """
                    SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
                        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
                    """)
            func state() throws -> [String?] {
                let row = try connection.run(Query(session))
                return (0..<3).map { row.string(0, $0) }
            }
            let before = try state()
            #expect(before[2] == "0")
            #expect(try migrator.migrate(connection, timeout: .seconds(600)).applied.count == 2)
            #expect(try state() == before)
            // A failed run also leaves the session unchanged and usable.
            #expect(throws: PostgresError.self) {
                try Migrator([Self.notes], target: target).migrate(connection, timeout: .seconds(600))
            }
            #expect(try state() == before)
        }
    }
}
