import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The chat board: what people post to each other, apart from the conversations. Confined to its shard.
///
/// Its rows stand in `chatts` under the empty appID, which no conversation can have.
public final class ChatBoard: @unchecked Sendable {
    private static let post = Statement(
        "post_chatt", .text, .text,
        sql: """
            INSERT INTO chatts (appid, seq, name, message)
            SELECT '', coalesce((SELECT seq FROM chatts WHERE appid = '' ORDER BY seq DESC LIMIT 1), 0) + 1, $1, $2
            """)

    /// The maximum size of the text in one list, in bytes.
    private static let listLimit = 1 << 20

    /// The newest postings, at most $1 of them and $2 bytes of text. A row beyond the limits of a posting comes from another
    /// program or an older version; the list has its beginning.
    private static let list = Statement(
        "get_chatts", .int8, .int8,
        sql: """
            SELECT CASE WHEN octet_length(name) > \(Posting.nameBytesLimit) THEN substr(name, 1, \(Posting.nameLimit))
                    ELSE name END,
                CASE WHEN octet_length(message) > \(Posting.messageLimit)
                    THEN substr(message, 1, \(Posting.messageLimit / 4)) ELSE message END,
                id, to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            FROM (
                SELECT *, sum(least(octet_length(name), \(Posting.nameBytesLimit))
                    + least(octet_length(message), \(Posting.messageLimit))) OVER (ORDER BY seq DESC) AS running
                FROM (SELECT * FROM chatts WHERE appid = '' ORDER BY seq DESC LIMIT $1) AS newest
            ) AS newest
            WHERE running <= $2 ORDER BY seq
            """)

    /// Whether the server takes writes.
    private static let check = Statement(
        "check_store", sql: "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'")

    private let pool: PostgresPool
    private let readers: PostgresPool
    private let limit: Int
    private let memory: MemoryBudget

    public init(pool: PostgresPool, readers: PostgresPool, limit: Int, memory: MemoryBudget) {
        self.readers = readers
        self.memory = memory
        self.pool = pool
        self.limit = limit
    }

    /// Stores a posting; many at once compete for the next place, and all get one.
    public func post(name: String, message: String) async throws(RelayError) {
        _ = try await pool.runForRelay([Query(Self.post, .text(name), .text(message))], attempts: 100)
    }

    /// The newest postings, oldest first, as an array of `[name, message, id, time]`, with its reservation.
    public func list() async throws(RelayError) -> (json: ByteBuffer, memory: MemoryReservation) {
        let rows = try await readers.runForRelay([Query(Self.list, .int8(limit), .int8(Self.listLimit))], attempts: 1)[
            0]
        // The reservation covers the rows and two copies of the JSON: one here and one in the connection's output.
        guard let held = memory.reserve(3 * rows.memorySize, for: .result) else {
            throw RelayError(overloading: memory)
        }
        var body = ByteBuffer(capacity: rows.memorySize)
        body.append("[")
        for row in 0..<rows.rowCount {
            for column in 0..<4 {
                body.append(column > 0 ? "," : row > 0 ? ",[" : "[")
                body.append(jsonString: rows.bytes(row, column))
            }
            body.append("]")
        }
        body.append("]")
        return (body, held)
    }

    /// Throws `storeUnavailable` unless the store takes writes.
    public func checkStore() async throws(RelayError) {
        let result = try await pool.runForRelay([Query(Self.check)], attempts: 1)
        guard result.first?.bool(0, 0) == true else {
            throw RelayError(.storeUnavailable, "The database takes no writes.", detail: "the database is read-only")
        }
    }
}
