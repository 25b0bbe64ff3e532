import ChatterdPostgres

/// The SQL that reads the history of a conversation, by seq and in pages, so that the reader can bound its memory.
enum HistoryStatements {
    /// The maximum size of a text in a page, in bytes. Most messages are shorter. The reader fetches longer ones separately, after
    /// it has reserved memory for them.
    static let inlineLimit = 16_384

    /// The rows behind place $2, at most $3, with the columns that decide about the replay.
    ///
    /// The result is binary, which saves the conversion of a number per row. Each column costs the server time. PostgreSQL knows
    /// the length of a TOASTed text without reading it.
    static let page = Statement(
        "history", .text, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT seq, name, CASE WHEN octet_length(message) <= \(inlineLimit) THEN message END,
                CASE WHEN octet_length(extras) > \(inlineLimit) THEN '' ELSE extras END, state, after
            FROM chatts WHERE appid = $1 AND seq > $2 ORDER BY seq LIMIT $3
            """)

    /// The link of each row of a conversation: the place that it follows, or null for the row above.
    static let links = Statement(
        "history_links", .text, returnsBinary: true,
        sql: "SELECT seq, after FROM chatts WHERE appid = $1 ORDER BY seq")

    /// The sizes of the rows in some places, in bytes.
    static let sizes = Statement(
        "history_sizes", .text, .int8Array, returnsBinary: true,
        sql: """
            SELECT seq, octet_length(message) + coalesce(octet_length(extras), 0) FROM chatts
            WHERE appid = $1 AND seq = ANY($2) ORDER BY seq
            """)

    /// The complete rows in some places.
    static let rows = Statement(
        "history_rows", .text, .int8Array, returnsBinary: true,
        sql: "SELECT seq, name, message, extras FROM chatts WHERE appid = $1 AND seq = ANY($2) ORDER BY seq")
}
