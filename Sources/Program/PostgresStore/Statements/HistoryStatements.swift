import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that reads the history of a conversation, newest rows first and in pages, so that the reader can bound its memory.
enum HistoryStatements {
    /// The limits of a text in a page, in bytes: in a page of few rows, and in one of many. Most messages are shorter. The reader fetches longer
    /// ones separately, after it has reserved memory for them.
    static let inlineLimits = 4_096...16_384

    /// The rows behind a row up to another one, newest first, at most `limit`, with the columns that decide about the replay, and with the texts
    /// that are not longer than `longest` bytes.
    ///
    /// The result is binary, which saves the conversion of a number per row. Each column costs the server time. PostgreSQL knows
    /// the length of a TOASTed text without reading it.
    static func page(
        of conversation: ConversationKey, after seq: Int64, upTo last: Int64, limit: Int,
        longest: Int = inlineLimits.upperBound
    ) -> Query<HistoryRow> {
        Query(pageStatement, .text(conversation.text), .int8(seq), .int8(last), .int8(limit), .int8(longest))
    }

    private static let pageStatement = Statement(
        "history", after: .rowScope, .text, .int8, .int8, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT \(columns(upTo: "$5")) FROM chatts WHERE appid = $1 AND seq > $2 AND seq <= $3 ORDER BY seq DESC LIMIT $4
            """,
        decode: historyRow)

    /// The first rows of a conversation, at most `limit`, newest first.
    static func firstRows(of conversation: ConversationKey, limit: Int) -> Query<HistoryRow> {
        Query(firstRowsStatement, .text(conversation.text), .int8(limit))
    }

    private static let firstRowsStatement = Statement(
        "history_beginning", after: .rowScope, .text, .int8, returnsBinary: true,
        sql: """
            SELECT * FROM (
                SELECT \(columns(upTo: "\(inlineLimits.upperBound)")) FROM chatts WHERE appid = $1 ORDER BY seq LIMIT $2) AS first
            ORDER BY seq DESC
            """,
        decode: historyRow)

    private static func columns(upTo size: String) -> String {
        """
        seq, CASE WHEN \(ConversationStatements.isReplayed("")) THEN 'complete' ELSE state END, after, name, CASE WHEN octet_length(message) <= \(size) THEN message END,
        CASE WHEN extras IS NULL THEN NULL WHEN octet_length(extras) + coalesce(octet_length(thinking), 0) > \(size) THEN ''
            WHEN octet_length(to_json(thinking)::text) > \(size) THEN '' ELSE \(StoredRows.withThinking("extras")) END
        """
    }

    private static let historyRow: @Sendable (inout Row) -> HistoryRow = { row in HistoryRow(row.fields) }

    /// The newest row on the branch that leads to a row, up to the last one of the first `limit` rows.
    ///
    /// The database follows the links of the branch: a conversation may have millions of them.
    static func branchRow(of conversation: ConversationKey, leadingTo seq: Int64, limit: Int) -> Query<Int64> {
        Query(branchRowStatement, .text(conversation.text), .int8(seq), .int8(limit))
    }

    private static let branchRowStatement = Statement(
        "history_branch", after: .rowScope, .text, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT chatterd_branch_row($1, $2, (
                SELECT max(f.seq) FROM (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq LIMIT $3) AS f))
            """
    ) { row in
        Int64(row.nextInt())
    }

    /// The version of the rows of a conversation; no row if the conversation was never opened.
    static func version(of conversation: ConversationKey) -> Query<HistoryVersion> {
        Query(versionStatement, .text(conversation.text))
    }

    private static let versionStatement = Statement(
        "history_version", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT epoch, base FROM chatterd_conversations WHERE appid = $1"
    ) { row in
        HistoryVersion(epoch: Int64(row.nextInt()), base: Int64(row.nextInt()))
    }

    /// The sizes of some rows.
    static func sizes(of conversation: ConversationKey, seqs: ParameterArray) -> Query<Size> {
        Query(sizesStatement, .text(conversation.text), .array(of: .int8, [seqs]))
    }

    /// The size of a row, in bytes, with its attachments.
    struct Size {
        let seq: Int64
        let message: Int
        let extras: Int
    }

    private static let sizesStatement = Statement(
        "history_sizes", after: .rowScope, .text, .int8Array, returnsBinary: true,
        sql: """
            SELECT seq, octet_length(message)::bigint, (\(AttachmentStatements.size("extras")))::bigint
                + CASE WHEN extras IS NULL THEN 0 ELSE coalesce(octet_length(\(StoredRows.thinking)), 0) END
            FROM \(StoredRows.numbered("$2")) AS c
            """
    ) { row in
        Size(seq: Int64(row.nextInt()), message: row.nextInt(), extras: row.nextInt())
    }

    /// Some rows with their complete texts, in order.
    static func rows(of conversation: ConversationKey, seqs: ParameterArray) -> Query<Message> {
        Query(rowsStatement, .text(conversation.text), .array(of: .int8, [seqs]))
    }

    /// The texts of a row.
    struct Message {
        let role: Field
        let message: Field
        let extras: Field
    }

    private static let rowsStatement = Statement(
        "history_rows", after: .rowScope, .text, .int8Array, returnsBinary: true,
        sql: """
            SELECT name, message, \(StoredRows.withThinking(AttachmentStatements.members("extras", of: "$1")))
            FROM \(StoredRows.numbered("$2")) AS c ORDER BY seq
            """
    ) { row in
        Message(role: row.nextField(), message: row.nextField(), extras: row.nextField())
    }
}
