import Bytes
import Postgres
import Relay

/// The chat board: what people post to each other, apart from the conversations. Confined to its shard.
///
/// Its rows stand in `chatts` under the empty appID, which no conversation can have.
final class ChatBoard: @unchecked Sendable {
    private static let post = Statement(
        "post_chatt", .text, .text,
        sql: """
            INSERT INTO chatts (appid, seq, name, message)
            SELECT '', coalesce((SELECT seq FROM chatts WHERE appid = '' ORDER BY seq DESC LIMIT 1), 0) + 1, $1, $2
            """)

    private static let list = Statement(
        "get_chatts", .int8,
        sql: """
            SELECT name, message, id, to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            FROM (SELECT * FROM chatts WHERE appid = '' ORDER BY seq DESC LIMIT $1) AS newest
            ORDER BY seq
            """)

    /// Whether the server takes writes.
    private static let check = Statement(
        "check_store", sql: "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'")

    private let pool: PostgresPool
    private let limit: Int

    init(pool: PostgresPool, limit: Int) {
        self.pool = pool
        self.limit = limit
    }

    /// Stores a posting; many at once compete for the next place, and all get one.
    func post(name: String, message: String) async throws(RelayError) {
        _ = try await pool.runForRelay([Query(Self.post, .text(name), .text(message))], attempts: 100)
    }

    /// Appends the newest postings, oldest first, as an array of `[name, message, id, time]`.
    func appendList(to body: inout ByteBuffer) async throws(RelayError) {
        let rows = try await pool.runForRelay([Query(Self.list, .int8(limit))], attempts: 1).first
        body.append("[")
        for row in 0..<(rows?.rowCount ?? 0) {
            for column in 0..<4 {
                body.append(column > 0 ? "," : row > 0 ? ",[" : "[")
                if let rows {
                    body.append(jsonString: rows.bytes(row, column))
                }
            }
            body.append("]")
        }
        body.append("]")
    }

    /// Throws `storeUnavailable` unless the store takes writes.
    func checkStore() async throws(RelayError) {
        let result = try await pool.runForRelay([Query(Self.check)], attempts: 1)
        guard result.first?.bool(0, 0) == true else {
            throw RelayError(.storeUnavailable, "The database takes no writes.", detail: "the database is read-only")
        }
    }
}
