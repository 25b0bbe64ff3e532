import ChatterdSockets
import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdPostgres

@Suite(.timeLimit(.minutes(30))) struct OutageTests {
    private static let one = Statement("one", sql: "SELECT 1")
    private static let sleep = Statement("sleep", .double, sql: "SELECT pg_sleep($1)")
    private static let sleepFromTable = Statement("sleep_from_table", sql: "SELECT pg_sleep(seconds) FROM pause")
    private static let limit = Statement("limit", sql: "SELECT set_config('statement_timeout', '100', true)")
    private static let backend = Statement("backend", sql: "SELECT pg_backend_pid()")
    private static let createNotes = Statement("create_notes", sql: "CREATE TABLE notes (id int8)")
    private static let insertNote = Statement("insert_note", .int8, sql: "INSERT INTO notes VALUES ($1)")

    /// Waits until a backend of the database sleeps.
    private func waitForSleeper(_ cluster: PrivateCluster, _ database: String) async throws {
        try await blocking {
            try eventually("a backend sleeps") {
                try cluster.query(
                    "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
                    database: database
                ).count == 1
            }
        }
    }

    /// Runs the query until the server answers, and returns the earlier failures.
    private func failuresUntilItAnswers(_ pool: PostgresPool, _ query: Query<Void>) async throws -> [PostgresError] {
        var failures: [PostgresError] = []
        while let error = await failure(of: pool, query) {
            failures.append(error)
            try await blocking { _ = usleep(10_000) }
        }
        return failures
    }

    @Test(arguments: [false, true]) func poolWithoutConnectionsUsesAnother(isOnOtherShard: Bool) async throws {
        try await withPool(anyDatabase()) { other in
            let shard = isOnOtherShard ? try Shard(index: 1) : other.shard
            let nowhere = PostgresConfiguration(target: try ConnectionTarget("host=/nowhere"))
            let pool = PostgresPool(nowhere, on: shard, fallback: other)
            for _ in 0..<2 {
                #expect(try await pool.run(Query(Self.one)).int(0, 0) == 1)
            }
            await pool.shutDown()
            let error = await failure(of: pool, Query(Self.one))
            #expect(error?.code == .shuttingDown)
        }
    }

    /// A pool that can use another one's connections is not missed.
    @Test func poolWithoutConnectionsIsAFaultUnlessAnotherHelps() async throws {
        try await withPool(anyDatabase()) { other in
            let nowhere = PostgresConfiguration(target: try ConnectionTarget("host=/nowhere"))
            let helped = PostgresPool(nowhere, on: other.shard, fallback: other)
            #expect(try await helped.run(Query(Self.one)).int(0, 0) == 1)
            #expect(nowhere.health.fault == nil)
            let alone = PostgresPool(nowhere, on: other.shard)
            let error = await failure(of: alone, Query(Self.one))
            #expect(error?.code == .connectionFailed)
            try await blocking {
                try eventually("the fault", isTrue: { nowhere.health.fault?.code == .connectionFailed })
            }
            #expect(nowhere.health.refusal == nil)
            await helped.shutDown()
            await alone.shutDown()
            #expect(nowhere.health.fault == nil)
        }
    }

    @Test(arguments: [
        ("disk_full", true), ("out_of_memory", true), ("read_only_sql_transaction", true), ("raise_exception", false),
    ])
    func refusalForLackOfResourcesIsAFaultUntilSomethingIsStored(condition: String, isFault: Bool) async throws {
        try await withPool(anyDatabase()) { pool in
            let raise = Statement("raise", sql: "DO $$ BEGIN RAISE \(condition); END $$")
            let error = await failure(of: pool, Query(raise))
            #expect(error != nil && pool.health.refusal == (isFault ? error : nil))
            _ = try await pool.run(Query(Self.one))
            #expect((pool.health.fault != nil) == isFault)
            pool.health.stored()
            #expect(pool.health.fault == nil)
        }
    }

    @Test func batchesWaitWhileTheServerRestarts() async throws {
        let cluster = try await blocking { try PrivateCluster.make() }
        try await withPool(cluster.conninfo(database: "postgres")) { pool in
            _ = try await pool.run(Query(Self.one))
            try await blocking { try cluster.stop() }
            async let answer = pool.run(Query(Self.one))
            try await blocking { try cluster.start() }
            #expect(try await answer.int(0, 0) == 1)
            #expect(!pool.connections.isEmpty)
            #expect(pool.lastError == nil)
        }
    }

    /// Each of the pool's connections is the next to get the batch, before the pool has seen that it ended.
    @Test(arguments: [1, 2, 5]) func batchIsRepeatedOnAllConnectionsThatEndedTogether(count: Int) async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        try await withPool(database) {
            $0.connections = count
        } _: { pool in
            // The pool opens another connection while all are busy.
            while pool.connections.count < count {
                try await withThrowingTaskGroup { group in
                    for _ in 0..<count { group.addTask { _ = try await pool.run(Query(Self.sleep, .double(0.01))) } }
                    try await group.waitForAll()
                }
            }
            // The thread of the pool's shard waits here, so the shard reads no end before the batch is sent.
            try cluster.terminateBackends(of: database)
            try eventually("the backends have ended") {
                try cluster.query(
                    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
                    database: database
                ).isEmpty
            }
            #expect(try await pool.run(Query(Self.one)).int(0, 0) == 1)
        }
    }

    @Test func immediateShutdownFailsUnansweredBatches() async throws {
        let cluster = try await blocking { try PrivateCluster.make() }
        let database = cluster.conninfo(database: "postgres")
        try await withPool(database) {
            $0.connectionTimeout = .milliseconds(200)
            // One connection, so that its loss affects all batches.
            $0.connections = 1
        } _: { pool in
            _ = try await failuresUntilItAnswers(pool, Query(Self.one))
            async let error = failure(of: pool, Query(Self.sleep, .double(600)))
            try await waitForSleeper(cluster, database)
            try await blocking { try cluster.stop(.immediate) }
            #expect(await error?.code == .connectionLost)
            #expect(pool.connections.isEmpty)
            #expect(pool.lastError != nil)
            let refused = try #require(await failure(of: pool, Query(Self.one)))
            #expect(refused.code == .connectionFailed)
            #expect(refused.isSafeToRetry)
            try await blocking { try cluster.start() }
            let failures = try await failuresUntilItAnswers(pool, Query(Self.one))
            #expect(failures.allSatisfy { $0.code == .connectionFailed })
        }
    }

    @Test func batchOfATerminatedBackendIsRepeatedOnce() async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        try await withPool(database) {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.createNotes))
            try cluster.query("CREATE TABLE pause (seconds float8)", database: database)
            try cluster.query("INSERT INTO pause VALUES (600)", database: database)
            async let results = pool.run([Query(Self.insertNote, .int8(1)), Query(Self.sleepFromTable)])
            try await waitForSleeper(cluster, database)
            try await blocking {
                // The second call ends at once.
                try cluster.query("UPDATE pause SET seconds = 0", database: database)
                try cluster.terminateBackends(of: database)
            }
            #expect(try await results.count == 2)
            #expect(try cluster.query("SELECT * FROM notes", database: database) == [["1"]])
        }
    }

    @Test func batchWhoseBackendEndsDuringTheCommitIsNotRepeated() async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        try await withPool(database) { pool in
            _ = try await pool.run(Query(Self.createNotes))
            // The trigger runs within the commit, when all results are sent. A sequence counts its runs, also those rolled back.
            try cluster.query(
                """
                CREATE SEQUENCE commits;
                CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN PERFORM nextval('commits'), pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;
                CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION leave();
                """, database: database)
            let lost = try #require(await failure(of: pool, Query(Self.insertNote, .int8(1))))
            #expect(lost.code == .connectionLost && !lost.isSafeToRetry)
            #expect(try cluster.query("SELECT last_value FROM commits", database: database) == [["1"]])
        }
    }

    @Test func batchIsNotRepeatedTwice() async throws {
        let database = try freshDatabase()
        let cluster = try PrivateCluster.shared()
        try await withPool(database) {
            // An older connection would get a third attempt.
            $0.connections = 1
        } _: { pool in
            async let error = failure(of: pool, Query(Self.sleep, .double(600)))
            var last = ""
            for _ in 0..<2 {
                last = try await blocking { [last] in
                    let pid = try eventually("another backend sleeps") {
                        try cluster.query(
                            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
                            database: database
                        ).first?.first { $0 != last }
                    }
                    try cluster.query("SELECT pg_terminate_backend(\(pid))", database: database)
                    return pid
                }
            }
            let lost = try #require(await error)
            #expect(lost.code == .connectionLost)
            #expect(lost.sqlState == "57P01")
            #expect(lost.isSafeToRetry)
        }
    }

    @Test func hangingServerCostsAtMostTheTimeLimit() async throws {
        let cluster = try await blocking { try PrivateCluster.make() }
        try await withPool(cluster.conninfo(database: "postgres") + " connect_timeout=2") {
            $0.timeLimit = .seconds(2)
            $0.connectionTimeout = .milliseconds(200)
            $0.connections = 1
        } _: { pool in
            _ = try await failuresUntilItAnswers(pool, Query(Self.one))
            try cluster.pause()
            async let first = failure(of: pool, Query(Self.one))
            async let second = failure(of: pool, Query(Self.one))
            let codes = await [first?.code, second?.code]
            #expect(codes.contains(.timedOut))
            #expect(codes.allSatisfy { $0 == .timedOut || $0 == .connectionLost })
            let refused = try #require(await failure(of: pool, Query(Self.one)))
            #expect(refused.code == .connectionFailed)
            try cluster.resume()
            // On a busy machine the first answers may take longer than the limit again.
            let failures = try await failuresUntilItAnswers(pool, Query(Self.one))
            #expect(failures.allSatisfy { $0.code == .connectionFailed || $0.code == .timedOut })
        }
    }

    @Test func slowStatementIsStoppedByTheServer() async throws {
        try await withPool(anyDatabase()) {
            $0.connections = 1
        } _: { pool in
            let before = try await pool.run(Query(Self.backend)).int(0, 0)
            // The server's limit for this batch alone, far below the pool's: no race between the two.
            let error = try #require(await failure(of: pool, Query(Self.limit), Query(Self.sleep, .double(600))))
            #expect(error.code == .timedOut)
            #expect(error.sqlState == "57014")
            #expect(error.isSafeToRetry)
            #expect(try await pool.run(Query(Self.backend)).int(0, 0) == before)
        }
    }

    @Test func missingServerIsReportedAfterTheTimeout() async throws {
        let lines = LogLines()
        try await withPool("host=/nowhere password=secret") {
            $0.connectionTimeout = .milliseconds(50)
            $0.log = { lines.append($0) }
        } _: { pool in
            for _ in 0..<3 {
                let error = try #require(await failure(of: pool, Query(Self.one)))
                #expect(error.code == .connectionFailed)
                #expect(error.isSafeToRetry)
            }
            #expect(pool.connections.isEmpty)
            try await blocking { try eventually("the failure is logged") { !lines.all.isEmpty } }
        }
        #expect(!lines.all.contains { $0.contains("secret") })
    }

    @Test func readOnlyServerHasItsOwnError() async throws {
        let database = try freshDatabase()
        try PrivateCluster.shared().query("CREATE TABLE notes (id int8)", database: database)
        try await withPool(database + " options='-c default_transaction_read_only=on'") { pool in
            let error = try #require(await failure(of: pool, Query(Self.insertNote, .int8(1))))
            #expect(error.code == .readOnly)
            #expect(error.isSafeToRetry)
            #expect(try await pool.run(Query(Self.one)).int(0, 0) == 1)
        }
    }

    @Test func shutdownCompletesSentBatchesAndRefusesOthers() async throws {
        try await withPool(anyDatabase()) { pool in
            async let slow = pool.run(Query(Self.sleep, .double(0.2)))
            _ = try await pool.run(Query(Self.one))
            await pool.shutDown()
            #expect(pool.inFlightCount == 0)
            #expect(pool.connections.isEmpty)
            #expect(try await slow.rowCount == 1)
            let error = try #require(await failure(of: pool, Query(Self.one)))
            #expect(error.code == .shuttingDown)
        }
    }

    @Test func poolMayBeUsedFromAnyThread() async throws {
        try await withPool(anyDatabase()) { pool in
            pool.start()
            let value = try await Task.detached { try await pool.run(Query(Self.one)).int(0, 0) }.value
            #expect(value == 1)
        }
    }
}
