import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdPostgres

@Suite(.timeLimit(.minutes(30))) struct PipelineTests {
    private static let createNotes = Statement(
        "create_notes", sql: "CREATE TABLE notes (id int8 PRIMARY KEY DEFERRABLE INITIALLY IMMEDIATE, text text)")
    private static let insertNote = Statement("insert_note", .int8, .text, sql: "INSERT INTO notes VALUES ($1, $2)")
    private static let countNotes = Statement("count_notes", sql: "SELECT count(*) FROM notes")
    private static let allNotes = Statement("all_notes", sql: "SELECT * FROM notes")
    private static let deferChecks = Statement("defer_checks", sql: "SET CONSTRAINTS ALL DEFERRED")
    private static let series = Statement(
        "series", .int8, sql: "SELECT n, repeat('x', 256) FROM generate_series(1, $1) AS n")
    private static let sleep = Statement("sleep", .double, sql: "SELECT pg_sleep($1)")
    private static let prepared = Statement(
        "prepared",
        sql: "SELECT count(*), sum(generic_plans) FROM pg_prepared_statements WHERE name LIKE 'count_notes.%'"
    )
    private static let forget = Statement("forget", sql: "DEALLOCATE ALL")
    private static let settings = Statement(
        "settings",
        sql: """
            SELECT current_setting('plan_cache_mode'), current_setting('statement_timeout'),
                   current_setting('application_name'), current_setting('client_encoding'), current_setting('jit')
            """)

    @Test func batchAnswersItsQueriesInOrder() async throws {
        try await withPool(freshDatabase()) { pool in
            _ = try await pool.run(Query(Self.createNotes))
            let results = try await pool.run([
                Query(Self.insertNote, .int8(1), .text("one")), Query(Self.insertNote, .int8(2), .null),
                Query(Self.countNotes),
            ])
            #expect(results.count == 3)
            #expect(results[0].affectedRows == 1)
            #expect(results[2].int(0, 0) == 2)
        }
    }

    private static let lock = Statement("lock", sql: "SELECT pg_advisory_lock(1)")
    private static let unlock = Statement("unlock", sql: "SELECT pg_advisory_unlock(1)")
    private static let stalls = Statement(
        "stalls",
        sql: """
            SELECT count(*) > 0 FROM pg_stat_activity
            WHERE wait_event = 'advisory' AND datname = current_database() AND now() - query_start > interval '1 second'
            """)
    private static let refuseConnections = Statement(
        "refuse_connections", sql: "UPDATE pg_database SET datallowconn = false WHERE datname = current_database()")

    /// Runs `body` with a pool whose only connection has waited for a lock for a second, and which may open another one. `other` releases
    /// the lock.
    private static func withStalledPool(
        _ body: @escaping @Sendable (_ pool: PostgresPool, _ other: PostgresPool) async throws -> Void
    ) async throws {
        let database = try freshDatabase()
        try await withPool(database) {
            $0.connections = 1
        } _: { other in
            _ = try await other.run(Query(lock))
            try await withPool(database) {
                $0.connections = 2
            } _: { pool in
                pool.start()
                while pool.connections.isEmpty { await Task.yield() }
                async let stalled = pool.run(Query(lock))
                while try await other.run(Query(stalls)).bool(0, 0) != true {}
                try await body(pool, other)
                #expect(try await stalled.rowCount == 1)
            }
        }
    }

    @Test func noBatchWaitsBehindAStalledOneWhileAConnectionCanBeOpened() async throws {
        try await Self.withStalledPool { pool, other in
            #expect(try await pool.run(Query(Self.settings)).rowCount == 1)
            _ = try await other.run(Query(Self.unlock))
        }
    }

    @Test func batchesGoBehindAStalledOneWhenNoConnectionCanBeOpened() async throws {
        try await Self.withStalledPool { pool, other in
            _ = try await other.run(Query(Self.refuseConnections))
            async let next = pool.run(Query(Self.settings))
            while pool.inFlightCount < 2 { await Task.yield() }
            _ = try await other.run(Query(Self.unlock))
            #expect(try await next.rowCount == 1)
        }
    }

    @Test func emptyBatchSendsNoQuery() async throws {
        let nowhere = "host=/nowhere"
        try await withPool(nowhere) { pool in
            let results = try await pool.run([Query<Void>]())
            #expect(results.isEmpty)
        }
    }

    @Test func failedQueryRollsBackItsBatchOnly() async throws {
        try await withPool(freshDatabase()) {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.createNotes))
            async let before = pool.run([Query(Self.insertNote, .int8(1), .text("a"))])
            async let broken = failure(
                of: pool, Query(Self.insertNote, .int8(2), .text("b")), Query(Self.insertNote, .int8(1), .text("c")),
                Query(Self.insertNote, .int8(3), .text("d")))
            async let after = pool.run([Query(Self.insertNote, .int8(4), .text("e")), Query(Self.countNotes)])
            #expect(try await before.count == 1)
            let error = try #require(await broken)
            #expect(error.code == .uniqueViolation)
            #expect(error.sqlState == "23505")
            #expect(error.constraint == "notes_pkey")
            #expect(!error.isSafeToRetry)
            // The DETAIL would quote the key.
            #expect(!error.description.contains("(1)"))
            #expect(try await after[1].int(0, 0) == 2)
        }
    }

    @Test func failureAtTheCommitFailsTheBatch() async throws {
        try await withPool(freshDatabase()) {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.createNotes))
            async let broken = failure(
                of: pool, Query(Self.deferChecks), Query(Self.insertNote, .int8(1), .null),
                Query(Self.insertNote, .int8(1), .null))
            async let after = pool.run(Query(Self.countNotes))
            #expect(await broken?.code == .uniqueViolation)
            #expect(try await after.int(0, 0) == 0)
        }
    }

    @Test func thousandBatchesShareTheConnections() async throws {
        try await withPool(freshDatabase()) { pool in
            _ = try await pool.run(Query(Self.createNotes))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in 0..<1_000 {
                    group.addTask {
                        let results = try await pool.run([
                            Query(Self.insertNote, .int8(id), .text("note \(id)")), Query(Self.series, .int8(id % 7)),
                        ])
                        #expect(results[1].rowCount == id % 7)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await pool.run(Query(Self.countNotes)).int(0, 0) == 1_000)
            #expect(pool.connections.count <= 4)
            #expect(pool.inFlightCount == 0)
        }
    }

    @Test func batchesBeyondTheLimitAreRefusedAndOthersAreNot() async throws {
        try await withPool(anyDatabase()) {
            $0.connections = 1
            $0.pipelineDepth = 2
            $0.maximumWaiting = 10
        } _: { pool in
            let codes = await withTaskGroup(of: PostgresError.Code?.self) { group in
                for _ in 0..<25 {
                    group.addTask { await failure(of: pool, Query(Self.series, .int8(1)))?.code }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.filter { $0 == nil }.count == 10)
            #expect(codes.filter { $0 == .overloaded }.count == 15)
        }
    }

    @Test func batchWaitsForAConnection() async throws {
        try await withPool(anyDatabase()) {
            $0.connections = 1
            $0.pipelineDepth = 1
        } _: { pool in
            async let slow = pool.run(Query(Self.sleep, .double(0.1)))
            async let next = pool.run(Query(Self.series, .int8(2)))
            let counts = try await [slow.rowCount, next.rowCount]
            #expect(counts == [1, 2])
        }
    }

    @Test func batchWithoutConnectionFailsAfterTheTimeout() async throws {
        let database = try freshDatabase()
        try await withPool(database) {
            $0.connections = 1
            $0.pipelineDepth = 1
            $0.connectionTimeout = .milliseconds(50)
        } _: { pool in
            while await failure(of: pool, Query(Self.series, .int8(1))) != nil {
                try await blocking { _ = usleep(10_000) }
            }
            try await withThrowingTaskGroup(of: PostgresError?.self) { group in
                for _ in 0..<2 {
                    group.addTask { await failure(of: pool, Query(Self.sleep, .double(600))) }
                }
                // One uses the only connection until the timeout of the other.
                let error = try #require(await group.next() ?? nil)
                #expect(error.code == .overloaded)
                #expect(error.isSafeToRetry)
                try await blocking { try PrivateCluster.shared().cancelSleeper(in: database) }
                #expect(try await group.next()??.code == .timedOut)
            }
        }
    }

    @Test func resultOfFiveThousandRowsIsReadInPlace() async throws {
        try await withPool(anyDatabase()) { pool in
            let result = try await pool.run(Query(Self.series, .int8(5_000)))
            #expect(result.rowCount == 5_000)
            var sum = 0
            var bytes = 0
            for row in 0..<result.rowCount {
                sum += result.int(row, 0) ?? 0
                bytes += result.bytes(row, 1).count
            }
            #expect(sum == 12_502_500)
            #expect(bytes == 1_280_000)
        }
    }

    @Test func statementIsPreparedOnceAndPlannedOnce() async throws {
        try await withPool(freshDatabase()) {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.createNotes))
            for _ in 0..<5 {
                _ = try await pool.run([Query(Self.countNotes), Query(Self.countNotes)])
            }
            let row = try await pool.run(Query(Self.prepared))
            #expect(row.int(0, 0) == 1)
            #expect(row.int(0, 1) == 10)
        }
    }

    @Test func statementThatFailedToPrepareIsPreparedAgain() async throws {
        try await withPool(freshDatabase()) {
            $0.connections = 1
        } _: { pool in
            // Two queries are in flight: the second one relies on the statement that the first one prepares.
            async let first = failure(of: pool, Query(Self.countNotes))
            async let second = failure(of: pool, Query(Self.countNotes))
            let errors = await [first, second]
            #expect(errors.map { $0?.code } == [.undefinedObject, .undefinedObject])
            _ = try await pool.run([Query(Self.createNotes)])
            #expect(try await pool.run(Query(Self.countNotes)).int(0, 0) == 0)
        }
    }

    @Test func statementsThatTheServerDroppedArePreparedAgain() async throws {
        try await withPool(anyDatabase()) {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.series, .int8(1)))
            _ = try await pool.run(Query(Self.forget))
            #expect(try await pool.run(Query(Self.series, .int8(3))).rowCount == 3)
        }
    }

    @Test func changedTableCausesNoFailure() async throws {
        let database = try freshDatabase()
        try await withPool(database) { pool in
            _ = try await pool.run(Query(Self.createNotes))
            _ = try await pool.run(Query(Self.allNotes))
            try PrivateCluster.shared().query("ALTER TABLE notes ADD COLUMN more int", database: database)
            _ = try await pool.run(Query(Self.allNotes))
            #expect(try await pool.run(Query(Self.countNotes)).int(0, 0) == 0)
        }
    }

    @Test func sessionHasTheSettingsOfThePool() async throws {
        try await withPool(anyDatabase()) {
            $0.timeLimit = .seconds(900)
        } _: { pool in
            let row = try await pool.run(Query(Self.settings))
            #expect((0..<5).map { row.string(0, $0) } == ["force_generic_plan", "810s", "chatterd", "UTF8", "off"])
        }
    }

    @Test func settingsOfTheUserStay() async throws {
        let database = try anyDatabase() + " options='-c statement_timeout=777s' application_name=mine"
        try await withPool(database) { pool in
            let row = try await pool.run(Query(Self.settings))
            #expect((0..<3).map { row.string(0, $0) } == ["force_generic_plan", "777s", "mine"])
        }
    }
}
