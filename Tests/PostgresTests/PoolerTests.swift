import ChatterdPostgres
import ChatterdTestSupport
import Testing

/// A pooler that lends the server's sessions for one transaction each.
@Suite(.timeLimit(.minutes(30))) struct PoolerTests {
    private static let createNotes = Statement("create_notes", sql: "CREATE TABLE notes (id int8 PRIMARY KEY)")
    private static let insertNote = Statement("insert_note", .int8, sql: "INSERT INTO notes VALUES ($1)")
    private static let countNotes = Statement("count_notes", sql: "SELECT count(*) FROM notes")
    private static let session = Statement(
        "session",
        sql: """
            SELECT current_setting('plan_cache_mode') || ' ' || current_setting('jit'), current_setting('statement_timeout'),
                (SELECT count(*) FROM pg_prepared_statements WHERE name <> '')
            """)

    /// Runs `body` with a pool behind a pooler, before a database that is empty.
    private func withPooledPool<Value: Sendable>(
        _ configure: (inout PostgresConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (PostgresPool) async throws -> Value
    ) async throws -> Value {
        let cluster = try PrivateCluster.shared()
        let pooler = try TransactionPooler(toSocketIn: cluster.directory)
        let database = pooler.conninfo(database: try cluster.makeEmptyDatabaseName())
        return try await withPool(database, configure) { pool in
            defer { withExtendedLifetime(pooler) {} }
            return try await body(pool)
        }
    }

    @Test func batchesWorkWithoutPreparedStatements() async throws {
        try await withPooledPool { pool in
            _ = try await pool.run(Query(Self.createNotes))
            for id in 1...3 {
                let results = try await pool.run([Query(Self.insertNote, .int8(Int64(id))), Query(Self.countNotes)])
                #expect(results.count == 2)
                #expect(results[1].int(0, 0) == id)
            }
            #expect(try await pool.run(Query(Self.session)).int(0, 2) == 0)
        }
    }

    @Test func settingsHoldInEachTransaction() async throws {
        try await withPooledPool {
            $0.timeLimit = .seconds(900)
            $0.connections = 1
        } _: { pool in
            for _ in 1...3 {
                let row = try await pool.run(Query(Self.session))
                #expect((0..<2).map { row.string(0, $0) } == ["force_generic_plan off", "810s"])
            }
        }
    }

    @Test func batchesAreSentOneAfterTheOtherAndAreTransactionsOfTheirOwn() async throws {
        try await withPooledPool {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.createNotes))
            _ = try await pool.run(Query(Self.insertNote, .int8(0)))
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                for id in 1...40 {
                    // Every fourth batch violates the key after an insert, which is rolled back.
                    let queries = [Query(Self.insertNote, .int8(Int64(id)))]
                    let breaking = id % 4 == 0 ? [Query(Self.insertNote, .int8(0))] : []
                    group.addTask { (try? await pool.run(queries + breaking)) != nil }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(outcomes == 30)
            #expect(try await pool.run(Query(Self.countNotes)).int(0, 0) == 31)
        }
    }

    @Test func batchIsNotRepeatedAfterPoolerLostItsServer() async throws {
        let cluster = try PrivateCluster.shared()
        let pooler = try TransactionPooler(toSocketIn: cluster.directory)
        let database = try cluster.makeEmptyDatabaseName()
        try await withPool(pooler.conninfo(database: database)) {
            $0.connections = 1
        } _: { pool in
            _ = try await pool.run(Query(Self.createNotes))
            pooler.losesServer.open()
            let error = await failure(of: pool, Query(Self.insertNote, .int8(1)))
            #expect(error?.code == .connectionLost)
            #expect(error?.isSafeToRetry == false)
        }
        // The transaction was committed, but the pooler does not know.
        #expect(try cluster.query("SELECT count(*) FROM notes", database: database) == [["1"]])
    }

    @Test func migratorWorksBehindPooler() async throws {
        let cluster = try PrivateCluster.shared()
        let pooler = try TransactionPooler(toSocketIn: cluster.directory)
        let target = try ConnectionTarget(pooler.conninfo(database: try cluster.makeEmptyDatabaseName()))
        let migrator = Migrator([Migration(name: "0001_notes", sql: "CREATE TABLE notes ()")], target: target)
        #expect(try await migrator.run(timeout: .seconds(600)).applied == ["0001_notes"])
        #expect(try await migrator.run(timeout: .seconds(600)).applied.isEmpty)
        withExtendedLifetime(pooler) {}
    }
}
