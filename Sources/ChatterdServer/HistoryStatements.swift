import Postgres

/// The SQL that reads the history of a conversation: by seq, in pages, so that its size in memory is known as it is read.
enum HistoryStatements {
    /// The longest text that comes with its row, in bytes. Most messages are shorter. A longer one is read by itself when it is
    /// known to be replayed and memory for it is reserved.
    static let inlineLimit = 16_384

    /// The rows behind place $2, at most $3, with what is needed to tell what is replayed.
    ///
    /// In binary, so that a number a row is not written out and read again as digits; each column costs the server, too. The
    /// length of a text that PostgreSQL keeps apart (TOAST) is known without reading it.
    static let page = Statement(
        "history", .text, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT seq, name, CASE WHEN octet_length(message) <= \(inlineLimit) THEN message END,
                CASE WHEN octet_length(extras) > \(inlineLimit) THEN '' ELSE extras END, state, after
            FROM chatts WHERE appid = $1 AND seq > $2 ORDER BY seq LIMIT $3
            """)

    /// Which row each row of a conversation follows: null for the row above.
    static let links = Statement(
        "history_links", .text, returnsBinary: true,
        sql: "SELECT seq, after FROM chatts WHERE appid = $1 ORDER BY seq")

    /// The lengths of the rows in some places.
    static let sizes = Statement(
        "history_sizes", .text, .int8Array, returnsBinary: true,
        sql: """
            SELECT seq, octet_length(message) + coalesce(octet_length(extras), 0) FROM chatts
            WHERE appid = $1 AND seq = ANY($2) ORDER BY seq
            """)

    /// The rows in some places, whole.
    static let rows = Statement(
        "history_rows", .text, .int8Array, returnsBinary: true,
        sql: "SELECT seq, name, message, extras FROM chatts WHERE appid = $1 AND seq = ANY($2) ORDER BY seq")
}
