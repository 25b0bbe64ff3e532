import ChatterdPostgres
import Testing

/// libpq keeps the buffer of a large statement or row.
@Suite(.timeLimit(.minutes(30))) struct LargeBufferTests {
    private static let backend = Statement("backend", sql: "SELECT pg_backend_pid()")
    private static let length = Statement("length", .text, sql: "SELECT length($1), pg_backend_pid()")
    private static let long = Statement("long", .int8, sql: "SELECT repeat('x', $1::integer), pg_backend_pid()")

    @Test func connectionWithALargeParameterIsReplaced() async throws {
        try await withPool(try anyDatabase(), { $0.connections = 1 }) { pool in
            let first = try await pool.run(Query(Self.backend)).int(0, 0)
            let small = try await pool.run(Query(Self.length, .text(String(repeating: "x", count: 1 << 20))))
            #expect(small.int(0, 0) == 1 << 20 && small.int(0, 1) == first)
            let large = try await pool.run(Query(Self.length, .text(String(repeating: "x", count: 3 << 20))))
            #expect(large.int(0, 0) == 3 << 20 && large.int(0, 1) == first)
            #expect(try await pool.run(Query(Self.backend)).int(0, 0) != first)
        }
    }

    @Test func connectionWithALargeRowIsReplaced() async throws {
        try await withPool(try anyDatabase(), { $0.connections = 1 }) { pool in
            let first = try await pool.run(Query(Self.backend)).int(0, 0)
            let large = try await pool.run(Query(Self.long, .int8(3 << 20)))
            #expect(large.bytes(0, 0).count == 3 << 20 && large.int(0, 1) == first)
            #expect(try await pool.run(Query(Self.backend)).int(0, 0) != first)
        }
    }
}
