import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that reads the rows of a conversation for its clients.
enum ConversationRowStatements {
    /// The data of a conversation, and its last row; no row if the conversation does not exist. Conversations of earlier versions have
    /// only rows.
    static func header(of conversation: ConversationKey) -> Query<Header> {
        Query(headerStatement, .text(conversation.text))
    }

    struct Header {
        let title: String?
        let createdAt: Int64
        let updatedAt: Int64
        let archivedAt: Int64?
        /// As JSON without braces; empty without any.
        let metadata: String
        /// The last row; 0 without rows.
        let last: Int64
        /// The id of the last row. No later row has it again.
        let lastID: ReplyID

        func conversation(_ name: String) -> ConversationHeader {
            ConversationHeader(
                name: name, title: title, createdAt: createdAt, updatedAt: updatedAt, archivedAt: archivedAt,
                metadata: Array(metadata.utf8))
        }
    }

    private static let headerStatement = Statement(
        "conversation_header", after: .rowScope, .text, returnsBinary: true,
        sql: """
            SELECT c.title, \(StoredTime.microseconds("coalesce(c.created_at, f.time)")),
                \(StoredTime.microseconds("coalesce(c.updated_at, l.time)")), \(StoredTime.microseconds("c.archived_at")),
                coalesce(c.metadata, ''), l.seq, l.id
            FROM (VALUES (1)) AS one
            LEFT JOIN chatterd_conversations c ON c.appid = $1
            LEFT JOIN LATERAL (SELECT time FROM chatts WHERE appid = $1 ORDER BY seq LIMIT 1) AS f ON true
            LEFT JOIN LATERAL (SELECT seq, id, time FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT 1) AS l ON true
            WHERE c.appid IS NOT NULL OR l.seq IS NOT NULL
            """
    ) { row in
        Header(
            title: row.nextOptionalText(), createdAt: Int64(row.nextInt()), updatedAt: Int64(row.nextInt()),
            archivedAt: row.nextOptionalInt().map { Int64($0) }, metadata: row.nextText(), last: Int64(row.nextInt()),
            lastID: row.nextReplyID())
    }

    /// A row of a page, and the size of its texts in bytes.
    struct Entry {
        let seq: Int64
        let size: Int
    }

    /// The messages before a row, in order: at most `limit` of them and `bytes` bytes, but at least one.
    static func entries(of conversation: ConversationKey, before seq: Int64, limit: Int, bytes: Int) -> Query<Entry> {
        Query(entriesBeforeStatement, .text(conversation.text), .int8(seq), .int8(limit), .int8(bytes))
    }

    /// The messages after a row, in order: at most `limit` of them and `bytes` bytes, but at least one.
    static func entries(of conversation: ConversationKey, after seq: Int64, limit: Int, bytes: Int) -> Query<Entry> {
        Query(entriesAfterStatement, .text(conversation.text), .int8(seq), .int8(limit), .int8(bytes))
    }

    /// The rows after a row up to another one, in order: at most `limit` of them and `bytes` bytes, but at least one.
    static func entries(
        of conversation: ConversationKey, after seq: Int64, upTo last: Int64, limit: Int, bytes: Int
    ) -> Query<Entry> {
        Query(entriesUpToStatement, .text(conversation.text), .int8(seq), .int8(limit), .int8(bytes), .int8(last))
    }

    private static let entriesBeforeStatement = Statement(
        "conversation_page_before", after: .rowScope, .text, .int8, .int8, .int8, returnsBinary: true,
        sql: entries(where: "seq < $2 AND \(isMessage(""))", order: "DESC"), decode: entry)

    private static let entriesAfterStatement = Statement(
        "conversation_page_after", after: .rowScope, .text, .int8, .int8, .int8, returnsBinary: true,
        sql: entries(where: "seq > $2 AND \(isMessage(""))", order: "ASC"), decode: entry)

    private static let entriesUpToStatement = Statement(
        "conversation_export_page", after: .rowScope, .text, .int8, .int8, .int8, .int8, returnsBinary: true,
        sql: entries(where: "seq > $2 AND seq <= $5", order: "ASC"), decode: entry)

    static let entry: @Sendable (inout Row) -> Entry = { row in
        Entry(seq: Int64(row.nextInt()), size: row.nextInt())
    }

    /// PostgreSQL knows the length of a TOASTed text without reading it.
    private static func entries(where condition: String, order: String) -> String {
        """
        SELECT seq, size FROM (
            SELECT seq, size, sum(size) OVER page AS running, row_number() OVER page AS number
            FROM (
                SELECT seq, (octet_length(message) + coalesce(octet_length(thinking), 0)
                    + \(AttachmentStatements.size("extras")) + coalesce(octet_length(options), 0) + coalesce(octet_length(last_event), 0)
                    + coalesce(octet_length(account), 0) + \(ConversationStatements.rowCost))::bigint AS size
                FROM chatts WHERE appid = $1 AND \(condition) ORDER BY seq \(order) LIMIT $3) AS found
            WINDOW page AS (ORDER BY seq \(order))) AS counted
        WHERE number = 1 OR running <= $4 ORDER BY seq
        """
    }

    /// Whether messages exist before and after a page.
    static func surroundings(of conversation: ConversationKey, first: Int64, last: Int64) -> Query<Surroundings> {
        Query(surroundingsStatement, .text(conversation.text), .int8(first), .int8(last))
    }

    struct Surroundings {
        let hasBefore: Bool
        let hasAfter: Bool
    }

    private static let surroundingsStatement = Statement(
        "conversation_surroundings", after: .rowScope, .text, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT EXISTS (SELECT FROM chatts WHERE appid = $1 AND seq < $2 AND \(isMessage(""))),
                EXISTS (SELECT FROM chatts WHERE appid = $1 AND seq > $3 AND \(isMessage("")))
            """
    ) { row in
        Surroundings(hasBefore: row.nextBool(), hasAfter: row.nextBool())
    }

    /// Some rows with all their texts, in order.
    static func rows(of conversation: ConversationKey, seqs: ParameterArray) -> Query<ConversationRow> {
        Query(rowsStatement, .text(conversation.text), .array(of: .int8, [seqs]))
    }

    private static let rowsStatement = Statement(
        "conversation_rows", after: .rowScope, .text, .int8Array, returnsBinary: true,
        sql: "SELECT \(columns) FROM \(StoredRows.numbered("$2")) AS c ORDER BY c.seq"
    ) { row in
        conversationRow(&row)
    }

    /// A message with the row that it follows.
    struct Message {
        let row: ConversationRow
        let follows: Int64?
        let parent: ReplyID?
    }

    /// Some messages with all their texts, in order. A message below a choice follows the chosen reply.
    static func messages(of conversation: ConversationKey, seqs: ParameterArray) -> Query<Message> {
        Query(messagesStatement, .text(conversation.text), .array(of: .int8, [seqs]))
    }

    // CASE in the place of coalesce: see `TransactionPreamble.rowScope`. The limit has each row looked up by its key.
    private static let messagesStatement = Statement(
        "conversation_messages", after: .rowScope, .text, .int8Array, returnsBinary: true,
        sql: """
            SELECT \(columns), f.seq, CASE WHEN p.turn = p.seq THEN p.id END FROM \(StoredRows.numbered("$2")) AS c
            LEFT JOIN LATERAL (
                SELECT state, after FROM chatts a WHERE a.appid = c.appid AND a.seq < c.seq ORDER BY a.seq DESC LIMIT 1) AS a
                ON c.after IS NULL
            CROSS JOIN LATERAL (
                SELECT CASE WHEN c.after IS NOT NULL THEN c.after WHEN a.state = 'choice' THEN a.after END AS seq) AS f
            LEFT JOIN LATERAL (
                SELECT seq, turn, id FROM chatts p WHERE p.appid = c.appid AND p.seq = f.seq LIMIT 1) AS p ON true
            ORDER BY c.seq
            """
    ) { row in
        Message(
            row: conversationRow(&row), follows: row.nextOptionalInt().map { Int64($0) },
            parent: row.nextUUID().map { ReplyID(high: $0.high, low: $0.low) })
    }

    /// The columns of `conversationRow`.
    private static let columns = """
        c.seq, c.after, \(StoredTime.microseconds("c.time")), c.name, c.message, c.thinking,
        \(AttachmentStatements.members("c.extras", of: "c.appid")), c.state, c.turn, c.id, c.model, coalesce(c.attempt, 1), c.options, c.last_event, c.account, \(StoredTime.microseconds("c.finished"))
        """

    private static func conversationRow(_ row: inout Row) -> ConversationRow {
        var result = ConversationRow(
            seq: Int64(row.nextInt()), kind: .message, after: row.nextOptionalInt().map { Int64($0) },
            time: Int64(row.nextInt()), role: row.nextBytes(), content: row.nextBytes(), thinking: row.nextBytes(),
            extras: row.nextBytes())
        let state = row.nextOptionalText()
        let turn = Int64(row.nextInt())
        let reply = ConversationRow.Reply(
            id: row.nextReplyID(), model: row.nextText(), state: state.flatMap(ReplyState.init(rawValue:)),
            attempt: Int64(row.nextInt()), options: row.nextBytes(), lastEvent: row.nextBytes(),
            provenance: row.nextBytes(),
            finishedAt: row.nextOptionalInt().map { Int64($0) })
        result.id = reply.id
        switch state {
        case nil: break
        case "prompt": result.kind = .prompt(turn: turn)
        case "choice": result.kind = .choice
        default: result.kind = .reply(reply)
        }
        return result
    }

    /// The replies of a conversation that are running.
    static func running(in conversation: ConversationKey) -> Query<Int64> {
        Query(runningStatement, .text(conversation.text))
    }

    private static let runningStatement = Statement(
        "conversation_running", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT seq FROM chatts WHERE \(ReplyFloor.isRunning())"
    ) { row in
        Int64(row.nextInt())
    }

    /// Whether a row exists that had an id before.
    static func exists(_ seq: Int64, _ id: ReplyID, in conversation: ConversationKey) -> Query<Bool> {
        Query(existsStatement, .text(conversation.text), .int8(seq), .uuid(id))
    }

    private static let existsStatement = Statement(
        "conversation_row_exists", after: .rowScope, .text, .int8, .uuid, returnsBinary: true,
        sql: "SELECT EXISTS (SELECT FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3)"
    ) { row in
        row.nextBool()
    }

    /// Whether a row is a message.
    static func isMessage(_ table: String) -> String { "\(table)state IS DISTINCT FROM 'choice'" }
}
