import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The chat board: postings of people to each other, separate from the conversations.
///
/// Its rows are in `chatts` under the empty `appid`, which no conversation can have.
public final class ChatBoard: Sendable {
    /// The maximum number of attempts of a posting that loses its `seq` to concurrent ones. Each time another one succeeds.
    private static let attempts = 100

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
            """
    ) { row in
        StoredPosting(
            name: row.nextField(), message: row.nextField(), id: row.nextField(), time: row.nextField())
    }

    private struct StoredPosting {
        let name: Field
        let message: Field
        let id: Field
        let time: Field
    }

    /// Whether the server accepts writes.
    private static let check = Statement(
        "check_store", sql: "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'"
    ) { row in row.nextBool() }

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

    /// Stores a posting. Concurrent postings compete for the next `seq`, and all of them get one.
    public func post(name: String, message: String) async throws(RelayError) {
        _ = try await pool.runForRelay(Query(Self.post, .text(name), .text(message)), attempts: Self.attempts)
    }

    /// The newest postings, oldest first, as an array of `[name, message, id, time]`, with its reservation.
    public func list() async throws(RelayError) -> (json: ByteBuffer, memory: MemoryReservation) {
        let rows = try await readers.runForRelay(Query(Self.list, .int8(limit), .int8(Self.listLimit)))
        // The reservation covers the rows and two copies of the JSON: one here and one in the connection's output.
        guard let reservation = memory.reserve(3 * rows.memorySize, for: .result) else {
            throw RelayError(overloading: memory)
        }
        var body = ByteBuffer(capacity: rows.memorySize)
        body.append("[")
        for (index, posting) in rows.enumerated() {
            body.append(index > 0 ? ",[" : "[")
            body.append(jsonString: posting.name.bytes)
            body.append(",")
            body.append(jsonString: posting.message.bytes)
            body.append(",")
            body.append(jsonString: posting.id.bytes)
            body.append(",")
            body.append(jsonString: posting.time.bytes)
            body.append("]")
        }
        body.append("]")
        return (body, reservation)
    }

    /// Throws `storeUnavailable` unless the store accepts writes, and each shard has a connection.
    public func checkStore() async throws(RelayError) {
        if let fault = pool.health.fault {
            throw RelayError(fault, otherwise: .storeUnavailable)
        }
        guard try await pool.runForRelay(Query(Self.check)).first == true else {
            throw RelayError(.storeUnavailable, "The database takes no writes.", detail: "the database is read-only")
        }
    }
}
