import ChatterdPostgres

/// The SQL that reads the history of a conversation, by seq and in pages, so that the reader can bound its memory.
enum HistoryStatements {
    /// The maximum size of a text in a page, in bytes. Most messages are shorter. The reader fetches longer ones separately, after
    /// it has reserved memory for them.
    static let inlineLimit = 16_384

    /// The rows behind a row, at most `limit`, with the columns that decide about the replay.
    ///
    /// The result is binary, which saves the conversion of a number per row. Each column costs the server time. PostgreSQL knows
    /// the length of a TOASTed text without reading it.
    static func page(of appID: String, after seq: Int64, limit: Int) -> Query<HistoryRow> {
        Query(pageStatement, .text(appID), .int8(seq), .int8(limit))
    }

    private static let pageStatement = Statement(
        "history", after: .rowScope, .text, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT seq, name, CASE WHEN octet_length(message) <= \(inlineLimit) THEN message END,
                CASE WHEN octet_length(extras) > \(inlineLimit) THEN '' ELSE extras END, state, after
            FROM chatts WHERE appid = $1 AND seq > $2 ORDER BY seq LIMIT $3
            """
    ) { row in
        HistoryRow(
            seq: Int64(row.nextInt()), role: row.nextField(), message: row.nextField(), extras: row.nextField(),
            kind: HistoryRow.Kind(state: row.nextField()), parent: row.nextOptionalInt().map { Int64($0) })
    }

    /// The link of each row of a conversation.
    static func links(of appID: String) -> Query<Link> { Query(linksStatement, .text(appID)) }

    /// Which row a row follows.
    struct Link {
        let seq: Int64
        /// The `seq` of the row that it follows; `nil` for the row above.
        let parent: Int64?
    }

    private static let linksStatement = Statement(
        "history_links", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT seq, after FROM chatts WHERE appid = $1 ORDER BY seq"
    ) { row in
        Link(seq: Int64(row.nextInt()), parent: row.nextOptionalInt().map { Int64($0) })
    }

    /// The sizes of some rows, in bytes.
    static func sizes(of appID: String, seqs: ParameterArray) -> Query<Int> {
        Query(sizesStatement, .text(appID), .array(of: .int8, [seqs]))
    }

    private static let sizesStatement = Statement(
        "history_sizes", after: .rowScope, .text, .int8Array, returnsBinary: true,
        sql: """
            SELECT octet_length(message) + coalesce(octet_length(extras), 0) FROM chatts
            WHERE appid = $1 AND seq = ANY($2) ORDER BY seq
            """
    ) { row in
        row.nextInt()
    }

    /// Some rows with their complete texts.
    static func rows(of appID: String, seqs: ParameterArray) -> Query<Message> {
        Query(rowsStatement, .text(appID), .array(of: .int8, [seqs]))
    }

    /// The texts of a row.
    struct Message {
        let role: Field
        let message: Field
        let extras: Field
    }

    private static let rowsStatement = Statement(
        "history_rows", after: .rowScope, .text, .int8Array, returnsBinary: true,
        sql: "SELECT name, message, extras FROM chatts WHERE appid = $1 AND seq = ANY($2) ORDER BY seq"
    ) { row in
        Message(role: row.nextField(), message: row.nextField(), extras: row.nextField())
    }
}
