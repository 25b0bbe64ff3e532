import ChatterdTestSupport
import Dispatch
import Testing

@testable import ChatterdPostgres

/// Expansions, contractions, migrations in steps, and what a run would do.
@Suite(.timeLimit(.minutes(30))) struct ExpandContractTests {
    private static let notes = Migration(
        name: "0001_notes",
        sql: """
            -- kind: stop
            CREATE TABLE notes (id int8 PRIMARY KEY, old text);
            CREATE TABLE chatterd_processes (id uuid DEFAULT gen_random_uuid(), expires_at timestamptz, schema text);
            INSERT INTO notes SELECT g FROM generate_series(1, 50) AS g
            """)
    private static let expansion = Migration(
        name: "0002_new", sql: "-- kind: expand\nALTER TABLE notes ADD COLUMN new text")
    private static let contraction = Migration(
        name: "0003_old", sql: "-- kind: contract\nALTER TABLE notes DROP COLUMN old")
    private static let later = Migration(
        name: "0004_later", sql: "-- kind: expand\nALTER TABLE notes ADD COLUMN later text")

    private func run(
        _ database: String, _ migrations: [Migration], contracts: Bool = false, timeout: Duration = .seconds(600),
        lines: LogLines = LogLines()
    ) async throws -> MigrationOutcome {
        try await Migrator(migrations, target: ConnectionTarget(database), log: { lines.append($0) })
            .run(contracts: contracts, timeout: timeout)
    }

    private func rows(_ database: String, _ query: String) async throws -> [[String]] {
        try await blocking { try PrivateCluster.shared().query(query, database: database) }
    }

    /// The names in both tables of applied migrations.
    private func applied(_ database: String) async throws -> [[String]] {
        try await rows(
            database,
            """
            SELECT 'needed', name FROM chatterd_migrations UNION ALL SELECT 'additional', name FROM chatterd_expansions
            ORDER BY 2
            """)
    }

    // MARK: - Newer databases

    @Test func programStartsOnADatabaseThatIsNewerByExpansions() async throws {
        let (database, lines) = (try freshDatabase(), LogLines())
        _ = try await run(database, [Self.notes, Self.expansion])
        #expect(try await applied(database) == [["needed", "0001_notes"], ["additional", "0002_new"]])
        // The setup of the older program would take rights away that it does not know.
        let setup = "SELECT set_config('\(Migrator.changesSetting)', 'changed', true)"
        let target = try ConnectionTarget(database)
        let older = Migrator([Self.notes], setup: setup, target: target, log: { lines.append($0) })
        #expect(try await older.run(timeout: .seconds(600)).description == "nothing to migrate")
        #expect(lines.all == ["the database is newer by expansions, with which this program works: 0002_new"])
        try await older.check(timeout: .seconds(600))
        let newer = Migrator([Self.notes, Self.expansion], setup: setup, target: target)
        #expect(try await newer.run(timeout: .seconds(600)).description == "changed")
    }

    @Test func programDoesNotStartOnADatabaseWithAnUnknownContraction() async throws {
        let database = try freshDatabase()
        _ = try await run(database, [Self.notes, Self.expansion, Self.contraction])
        let older = Migrator([Self.notes, Self.expansion], target: try ConnectionTarget(database))
        let errors = [
            await #expect(throws: PostgresError.self) { _ = try await older.run(timeout: .seconds(600)) },
            await #expect(throws: PostgresError.self) { try await older.check(timeout: .seconds(600)) },
            await #expect(throws: PostgresError.self) { _ = try await older.plan(timeout: .seconds(600)) },
        ]
        for error in errors {
            #expect(error?.code == .databaseTooNew)
            #expect(error?.message.contains("does not know: 0003_old; start a newer chatterd") == true)
        }
    }

    @Test func markOfAMigrationIsNoPartOfItsText() async throws {
        let database = try freshDatabase()
        let unmarked = Migration(name: "0001_notes", sql: Self.notes.sql)
        #expect(unmarked.kind == .stop)
        _ = try await run(database, [unmarked])
        #expect(try await run(database, [Self.notes]).applied.isEmpty)
    }

    @Test func changedExpansionIsRefused() async throws {
        let database = try freshDatabase()
        _ = try await run(database, [Self.notes, Self.expansion])
        let changed = Migration(name: "0002_new", sql: "-- kind: expand\nSELECT 1")
        let error = await #expect(throws: PostgresError.self) {
            _ = try await run(database, [Self.notes, changed])
        }
        #expect(error?.code == .migrationChanged)
    }

    /// Databases exist whose first expansions are in the table of all migrations.
    @Test func expansionInTheTableOfNeededMigrationsCounts() async throws {
        let database = try freshDatabase()
        let unmarked = Migration(name: "0002_new", sql: Self.expansion.sql)
        _ = try await run(database, [Self.notes, unmarked])
        #expect(try await run(database, [Self.notes, Self.expansion, Self.later]).applied == ["0004_later"])
        #expect(
            try await applied(database) == [
                ["needed", "0001_notes"], ["needed", "0002_new"], ["additional", "0004_later"],
            ])
    }

    /// A migrator that waits for another one must notice the table that the other one has made.
    @Test func manyMigratorsAtOnceApplyEachExpansionOnce() async throws {
        let database = try freshDatabase()
        let later = (2..<8).map { Migration(name: "000\($0)", sql: "-- kind: expand\nCREATE TABLE t\($0) ()") }
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<4 {
                group.addTask { try await run(database, [Self.notes] + later).applied }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied.sorted() == ["0001_notes"] + later.map(\.name).sorted())
    }

    // MARK: - Contractions

    private static let all = [notes, expansion, contraction, later]

    @Test func contractionOfANewDatabaseRunsAtOnce() async throws {
        let outcome = try await run(try freshDatabase(), Self.all)
        #expect(outcome.applied == Self.all.map(\.name) && outcome.outstanding.isEmpty)
    }

    @Test func contractionRunsOnRequestOnly() async throws {
        let (database, lines) = (try freshDatabase(), LogLines())
        _ = try await run(database, [Self.notes])
        let outcome = try await run(database, Self.all, lines: lines)
        #expect(outcome.applied == ["0002_new", "0004_later"] && outcome.outstanding == ["0003_old"])
        #expect(lines.all.contains { $0.hasPrefix("0003_old not applied: run `chatterd migrate --contract` when ") })
        let again = try await run(database, Self.all)
        #expect(again.applied.isEmpty && again.outstanding == ["0003_old"])
        let contracted = try await run(database, Self.all, contracts: true)
        #expect(contracted.applied == ["0003_old"] && contracted.outstanding.isEmpty)
    }

    @Test func contractionWaitsForProcessesOfOlderPrograms() async throws {
        let (database, lines) = (try freshDatabase(), LogLines())
        _ = try await run(database, [Self.notes, Self.expansion])
        _ = try await rows(
            database,
            """
            INSERT INTO chatterd_processes (id, expires_at, schema) VALUES
            ('11111111-1111-1111-1111-111111111111', now() + interval '1 day', NULL),
            ('22222222-2222-2222-2222-222222222222', now() + interval '1 day', '0002_new'),
            ('33333333-3333-3333-3333-333333333333', now() + interval '1 day', '0003_old'),
            ('44444444-4444-4444-4444-444444444444', now(), NULL)
            """)
        let target = database + " connect_timeout=600"
        let error = await #expect(throws: PostgresError.self) {
            _ = try await run(target, Self.all, contracts: true, timeout: .milliseconds(300))
        }
        let waits = """
            migration 0003_old waits until processes of an older program have ended: \
            11111111-1111-1111-1111-111111111111 (of an early version), 22222222-2222-2222-2222-222222222222 (knows 0002_new)
            """
        #expect(error?.message == waits)
        async let outcome = run(database, Self.all, contracts: true, lines: lines)
        try await blocking {
            try eventually("it waits") { lines.all.contains { $0.hasPrefix(waits + "; trying again") } }
        }
        _ = try await rows(database, "DELETE FROM chatterd_processes WHERE schema IS DISTINCT FROM '0003_old'")
        #expect(try await outcome.applied.contains("0003_old"))
    }

    /// An older program does not know what the migration changes, and a process of it would fail.
    @Test func migrationWithAStopWaitsForProcessesOfOlderPrograms() async throws {
        let database = try freshDatabase()
        _ = try await run(database, [Self.notes])
        _ = try await rows(
            database,
            "INSERT INTO chatterd_processes (expires_at, schema) VALUES (now() + interval '1 day', '0001_notes')")
        let stop = Migration(name: "0002_stop", sql: "-- kind: stop\nALTER TABLE notes DROP COLUMN old")
        let error = await #expect(throws: PostgresError.self) {
            _ = try await run(
                database + " connect_timeout=600", [Self.notes, stop], timeout: .milliseconds(300))
        }
        #expect(error?.message.hasPrefix("migration 0002_stop waits until processes of an older program") == true)
        _ = try await rows(database, "UPDATE chatterd_processes SET expires_at = now()")
        #expect(try await run(database, [Self.notes, stop]).applied == ["0002_stop"])
    }

    // MARK: - Steps

    private static func steps(_ text: String) -> Migration {
        Migration(name: "0005_steps", sql: "-- kind: expand\n-- transaction: none\n\(text)")
    }

    private static let index = steps(
        "-- The index.\n-- step\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS notes_old ON notes (old);\n")

    @Test func indexWhoseBuildHasBrokenOffIsBuiltAgain() async throws {
        let (database, lines) = (try freshDatabase(), LogLines())
        _ = try await run(database, [Self.notes])
        _ = try await rows(database, "UPDATE notes SET old = 'same'")
        let isValid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'notes_old'::regclass"
        let error = await #expect(throws: PostgresError.self) {
            _ = try await run(database, [Self.notes, Self.index])
        }
        #expect(error?.code == .uniqueViolation && error?.message.hasPrefix("migration 0005_steps: ") == true)
        #expect(try await rows(database, isValid) == [["f"]])
        _ = try await rows(database, "UPDATE notes SET old = id::text")
        #expect(try await run(database, [Self.notes, Self.index], lines: lines).applied == ["0005_steps"])
        #expect(try await rows(database, isValid) == [["t"]])
        #expect(lines.all.contains { $0.hasPrefix("index notes_old is invalid") })
    }

    /// The build of an index waits for a transaction that has changed the table, says so, and delays no other session.
    @Test func tableCanBeChangedWhileAnIndexIsBuilt() async throws {
        let (database, lines, end) = (try freshDatabase(), LogLines(), DispatchSemaphore(value: 0))
        defer { end.signal() }
        _ = try await run(database, [Self.notes])
        let target = try ConnectionTarget(database + " application_name=writer")
        let written = DispatchSemaphore(value: 0)
        startThread {
            guard let connection = try? BlockingConnection(target) else { return }
            try? connection.execute("BEGIN; UPDATE notes SET old = 'a' WHERE id = 1")
            written.signal()
            end.wait()
            try? connection.execute("COMMIT")
        }
        try await blocking { written.wait() }
        async let outcome = run(database, [Self.notes, Self.index], lines: lines)
        try await blocking {
            try eventually("the writer is named") {
                lines.all.contains {
                    $0.contains(" is held up by backend ") && $0.contains("(postgres, writer, idle in transaction, ")
                }
            }
        }
        _ = try await rows(database, "INSERT INTO notes VALUES (100, 'b')")
        end.signal()
        #expect(try await outcome.applied == ["0005_steps"])
    }

    /// Each run of a back-fill stays. After the loss of its connections the migrator continues with the rows that are left.
    @Test func backFillThatIsInterruptedContinues() async throws {
        let database = try freshDatabase()
        _ = try await run(database, [Self.notes])
        _ = try await rows(
            database,
            """
            ALTER TABLE notes ADD COLUMN fills integer NOT NULL DEFAULT 0;
            CREATE FUNCTION stop_at_25() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                NEW.fills := OLD.fills + 1;
                IF NEW.id = 25 THEN PERFORM pg_advisory_xact_lock(7); END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER stop_at_25 BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION stop_at_25()
            """)
        let migration = Self.steps(
            """
            -- step
            ALTER TABLE notes ADD COLUMN IF NOT EXISTS new text;
            -- repeat
            UPDATE notes SET new = 'filled' WHERE id IN (
                SELECT id FROM notes WHERE new IS NULL ORDER BY id LIMIT 10);
            """)
        startThread {
            // A session holds the lock, and fails when its backend is terminated.
            _ = try? PrivateCluster.shared().query("SELECT pg_advisory_lock(7), pg_sleep(3600)", database: database)
        }
        let holds = """
            SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        try await blocking {
            try eventually("the lock is held") {
                try PrivateCluster.shared().query(holds, database: database).count == 1
            }
        }
        async let outcome = run(database, [Self.notes, migration])
        try await blocking {
            let cluster = try PrivateCluster.shared()
            try eventually("two runs are stored, and the third one waits") {
                // The column does not exist at first.
                (try? cluster.query("SELECT count(*) FROM notes WHERE new IS NOT NULL", database: database)) == [["20"]]
            }
            #expect(try cluster.query("SELECT to_regclass('chatterd_expansions')", database: database) == [["<null>"]])
            try cluster.terminateBackends(of: database)
        }
        #expect(try await outcome.applied == ["0005_steps"])
        #expect(try await rows(database, "SELECT DISTINCT new, fills FROM notes") == [["filled", "1"]])
        #expect(try await applied(database).last == ["additional", "0005_steps"])
    }

    // MARK: - Plans

    private func contents(_ database: String) async throws -> [[String]] {
        try await rows(
            database,
            """
            SELECT c.relname, string_agg(a.attname, ' ' ORDER BY a.attnum) FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = 'public'::regnamespace GROUP BY 1 ORDER BY 1
            """)
    }

    @Test func planNamesMigrationsAndLocksAndChangesNothing() async throws {
        let database = try freshDatabase()
        func plan(_ migrations: [Migration], contracts: Bool = false) async throws -> [String] {
            try await Migrator(migrations, target: ConnectionTarget(database))
                .plan(contracts: contracts, timeout: .seconds(600))
        }
        #expect(try await plan([Self.notes]) == ["0001_notes (stop): runs now"])
        #expect(try await contents(database).isEmpty)
        _ = try await run(database, [Self.notes])
        _ = try await rows(database, "ANALYZE notes")
        let before = try await contents(database)
        let lines = try await plan(Self.all + [Self.index])
        #expect(lines.count == 8, "\(lines)")
        #expect(
            lines.filter { !$0.hasPrefix(" ") } == [
                "0002_new (expand): runs now", "0003_old (contract): runs with --contract only",
                "0004_later (expand): runs now", "0005_steps (expand): runs now",
            ])
        #expect(lines[1].hasPrefix("    AccessExclusiveLock on notes: ") && lines[1].hasSuffix(" kB, about 50 rows"))
        #expect(lines[7].hasPrefix("    ShareUpdateExclusiveLock on notes: "))
        _ = try await rows(database, "INSERT INTO chatterd_processes (expires_at) VALUES (now() + interval '1 day')")
        let waiting = try await plan(Self.all, contracts: true)
        #expect(waiting.contains { $0.hasPrefix("0003_old (contract): waits until processes of an older program") })
        #expect(try await contents(database) == before)
        _ = try await run(database, [Self.notes, Self.expansion])
        #expect(try await plan([Self.notes, Self.expansion]) == ["nothing to migrate"])
    }

    @Test(arguments: [
        ("ALTER TABLE IF EXISTS a ADD b text", ["a AccessExclusiveLock"]),
        ("DROP INDEX a_b; DROP TABLE a, c;", ["a_b AccessExclusiveLock", "a AccessExclusiveLock"]),
        ("CREATE UNIQUE INDEX i ON a (b)", ["a ShareLock"]),
        ("CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON a (b)", ["a ShareUpdateExclusiveLock"]),
        ("DROP INDEX CONCURRENTLY i", ["i ShareUpdateExclusiveLock"]),
        ("CREATE TRIGGER t BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION f()", ["a ShareRowExclusiveLock"]),
        (
            "CREATE POLICY p ON a USING (true); DROP TRIGGER IF EXISTS t ON b",
            ["a AccessExclusiveLock", "b AccessExclusiveLock"]
        ),
        (
            "-- ALTER TABLE x\nUPDATE a SET b = 1; DELETE FROM ONLY c; INSERT INTO d VALUES (1)",
            ["a RowExclusiveLock", "c RowExclusiveLock", "d RowExclusiveLock"]
        ),
        (
            "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$\nDELETE FROM a;\n$$; TRUNCATE b",
            ["b AccessExclusiveLock"]
        ),
    ])
    func locksOfStatementsAreKnown(sql: String, expected: [String]) {
        #expect(Migration(name: "0001", sql: sql).locks.map { "\($0.name) \($0.mode)" } == expected)
    }
}
