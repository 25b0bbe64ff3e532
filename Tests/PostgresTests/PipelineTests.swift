import Postgres
import Testing

@Suite struct PipelineTests {
    private static let createNotes = Statement(
        "create_notes", sql: "CREATE TABLE notes (id int8 PRIMARY KEY, text text)")
    private static let insertNote = Statement("insert_note", .int8, .text, sql: "INSERT INTO notes VALUES ($1, $2)")
    private static let countNotes = Statement("count_notes", sql: "SELECT count(*) FROM notes")
    private static let backend = Statement("backend", sql: "SELECT pg_backend_pid()")
    private static let preparedNames = Statement(
        "prepared_names", sql: "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'insert_note.%'")

    @Test func aBatchAnswersEachOfItsQueriesInOrder() async throws {
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

    @Test func aFailedQueryUndoesItsBatchAndNoOther() async throws {
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
            #expect(try await after[1].int(0, 0) == 2)
        }
    }
}
