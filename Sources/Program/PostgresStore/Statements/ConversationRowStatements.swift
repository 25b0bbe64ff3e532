import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that reads the rows of a conversation for its clients, copies a branch, and stores imported rows. Every statement touches the
/// conversations of one owner.
enum ConversationRowStatements {
    // MARK: - Reading

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
        /// The last row; 0 without rows.
        let last: Int64
        /// The id of the last row. No later row has it again.
        let lastID: ReplyID

        func conversation(_ name: String) -> ConversationHeader {
            ConversationHeader(
                name: name, title: title, createdAt: createdAt, updatedAt: updatedAt, archivedAt: archivedAt)
        }
    }

    private static let headerStatement = Statement(
        "conversation_header", after: .rowScope, .text, returnsBinary: true,
        sql: """
            SELECT c.title, \(microseconds("coalesce(c.created_at, f.time)")),
                \(microseconds("coalesce(c.updated_at, l.time)")), \(microseconds("c.archived_at")), l.seq, l.id
            FROM (VALUES (1)) AS one
            LEFT JOIN chatterd_conversations c ON c.appid = $1
            LEFT JOIN LATERAL (SELECT time FROM chatts WHERE appid = $1 ORDER BY seq LIMIT 1) AS f ON true
            LEFT JOIN LATERAL (SELECT seq, id, time FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT 1) AS l ON true
            WHERE c.appid IS NOT NULL OR l.seq IS NOT NULL
            """
    ) { row in
        Header(
            title: row.nextOptionalText(), createdAt: Int64(row.nextInt()), updatedAt: Int64(row.nextInt()),
            archivedAt: row.nextOptionalInt().map { Int64($0) }, last: Int64(row.nextInt()), lastID: row.nextReplyID())
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
        c.seq, c.after, \(microseconds("c.time")), c.name, c.message, c.thinking,
        \(AttachmentStatements.members("c.extras", of: "c.appid")), c.state, c.turn, c.id, c.model, coalesce(c.attempt, 1), c.options, c.last_event, c.account, \(microseconds("c.finished"))
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

    /// The parts of the branch of a reply that reach into a page; of the next prompt without a reply.
    static func branch(
        of conversation: ConversationKey, upTo reply: ReplyID? = nil, from first: Int64, to last: Int64
    ) -> Query<ClosedRange<Int64>> {
        guard let reply else { return Query(branchStatement, .text(conversation.text), .int8(first), .int8(last)) }
        return Query(replyBranchStatement, .text(conversation.text), .int8(first), .int8(last), .uuid(reply))
    }

    private static let branchStatement = Statement(
        "conversation_branch", after: .rowScope, .text, .int8, .int8, returnsBinary: true,
        sql: branch(from: "SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT 1"), decode: range)

    private static let replyBranchStatement = Statement(
        "reply_branch", after: .rowScope, .text, .int8, .int8, .uuid, returnsBinary: true,
        sql: branch(from: "SELECT seq FROM chatts WHERE appid = $1 AND id = $4 AND turn = seq"), decode: range)

    private static func branch(from tip: String) -> String {
        """
        WITH RECURSIVE \(walk(from: tip, downTo: "$2"))
        SELECT low, high FROM walk WHERE high >= $2 AND low <= $3
        """
    }

    private static let range: @Sendable (inout Row) -> ClosedRange<Int64> = { row in
        let low = Int64(row.nextInt())
        return low...max(low, Int64(row.nextInt()))
    }

    /// The ranges of rows on a branch of `$1`, from its tip to `limit`. Each range ends where a row follows another one than the row
    /// above it. A link never leads forward, so the walk ends.
    private static func walk(from tip: String, downTo limit: String) -> String {
        let link = """
            LEFT JOIN LATERAL (
                SELECT seq, after FROM chatts WHERE appid = $1 AND seq <= t.seq AND after IS NOT NULL ORDER BY seq DESC LIMIT 1
            ) AS l ON true
            """
        return """
            walk (high, low, next) AS (
                SELECT t.seq, coalesce(l.seq, 0), l.after FROM (\(tip)) AS t \(link)
                UNION ALL
                SELECT t.seq, coalesce(l.seq, 0), l.after
                FROM (SELECT next AS seq FROM walk WHERE next > 0 AND next < low AND low > \(limit)) AS t \(link)
            )
            """
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

    // MARK: - Copying a branch

    /// Copies the turns of a branch that a history has into a conversation that does not exist, if they have at most `limit` bytes. The copy has
    /// one branch, and other numbers; so it has no provenance, which names numbers.
    ///
    /// - Parameter reply: the last reply; `nil` for the branch of the next prompt.
    static func fork(
        _ source: ConversationKey, at reply: ReplyID?, to target: ConversationKey, title: String?, limit: Int
    ) -> Query<Fork> {
        Query(
            forkStatement, .text(source.text), .text(target.text), reply.map { .uuid($0) } ?? .null,
            .text(target.owner.keyPrefix), title.map { .text($0) } ?? .null, .int8(limit),
            .int8(Int(Partition(of: target.owner).number)))
    }

    /// The outcome of a copy.
    struct Fork {
        let isDone: Bool
        /// Whether the source exists.
        let hasSource: Bool
        /// Whether histories have the given reply; `nil` if it does not exist.
        let isReplayed: Bool?
        /// Whether the target existed before.
        let hasTarget: Bool
    }

    // OFFSET 0 keeps the planner from reading all rows for each range of the walk.
    private static let forkStatement = Statement(
        "fork_conversation", after: .rowScope, .text, .text, .uuid, .text, .text, .int8, .int8, returnsBinary: true,
        sql: """
            WITH RECURSIVE reply AS (
                SELECT seq, \(ConversationStatements.isReplayed("")) AS is_replayed FROM chatts
                WHERE appid = $1 AND id = $3 AND turn = seq
            ), tip AS (
                SELECT seq FROM reply WHERE is_replayed
                UNION ALL
                (SELECT seq FROM chatts WHERE appid = $1 AND $3 IS NULL ORDER BY seq DESC LIMIT 1)
            ), \(walk(from: "SELECT seq FROM tip", downTo: "0")), grouped AS (
                SELECT c.seq, c.state, \(ConversationStatements.isReplayed("c.")) AS is_replayed,
                    octet_length(c.message) + coalesce(octet_length(c.thinking), 0)
                        + \(AttachmentStatements.size("c.extras")) + \(ConversationStatements.rowCost) AS size,
                    count(*) FILTER (WHERE c.state <> 'prompt') OVER (ORDER BY c.seq DESC) AS number
                FROM walk w CROSS JOIN LATERAL (
                    SELECT seq, state, message, thinking, extras FROM chatts
                    WHERE appid = $1 AND seq BETWEEN w.low AND w.high OFFSET 0) AS c
                WHERE \(isMessage("c."))
            ), kept AS (
                SELECT seq, state, is_replayed, number, row_number() OVER (ORDER BY seq) AS place,
                    (coalesce(sum(size) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))::bigint AS total,
                    sum(size) OVER () AS size
                FROM (
                    SELECT *, bool_or(is_replayed) OVER turn AND bool_or(state = 'prompt') OVER turn AS is_whole
                    FROM grouped WINDOW turn AS (PARTITION BY number)) AS turns
                WHERE state IS NULL OR is_whole
            ), source AS (
                SELECT (SELECT title FROM chatterd_conversations WHERE appid = $1) AS title,
                    (SELECT metadata FROM chatterd_conversations WHERE appid = $1) AS metadata
                WHERE EXISTS (SELECT FROM chatts WHERE appid = $1)
                    OR EXISTS (SELECT FROM chatterd_conversations WHERE appid = $1)
            ), claimed AS (
                INSERT INTO chatterd_conversations (appid, owner, title, metadata)
                SELECT $2, $4, coalesce($5, s.title), s.metadata FROM source s
                WHERE ($3 IS NULL OR EXISTS (SELECT FROM tip)) AND NOT EXISTS (SELECT FROM chatts WHERE appid = $2)
                    AND coalesce((SELECT max(size) FROM kept), 0) <= $6
                ON CONFLICT (appid) DO NOTHING
                RETURNING appid
            ), added AS (
                INSERT INTO chatts (
                    appid, seq, turn, name, message, extras, thinking, state, id, model, attempt, options, last_event, time,
                    finished, total, floor)
                SELECT t.appid, k.place,
                    CASE WHEN k.state IS NOT NULL THEN max(k.place) OVER (PARTITION BY k.number) END,
                    c.name, c.message, c.extras, c.thinking, c.state,
                    CASE WHEN k.is_replayed THEN \(newReplyID(in: "$7")) ELSE gen_random_uuid() END,
                    c.model, c.attempt, c.options, c.last_event, c.time, c.finished,
                    CASE WHEN k.is_replayed OR k.state IS NULL THEN k.total END, k.place - 1
                FROM claimed t, kept k JOIN chatts c ON c.appid = $1 AND c.seq = k.seq
            )
            SELECT EXISTS (SELECT FROM claimed), EXISTS (SELECT FROM source), (SELECT is_replayed FROM reply),
                EXISTS (SELECT FROM chatts WHERE appid = $2)
                    OR EXISTS (SELECT FROM chatterd_conversations WHERE appid = $2)
            """
    ) { row in
        Fork(
            isDone: row.nextBool(), hasSource: row.nextBool(), isReplayed: row.nextOptionalBool(),
            hasTarget: row.nextBool())
    }

    /// A new id in a partition: as `ReplyID.init(in:using:)` makes it.
    private static func newReplyID(in partition: String) -> String {
        """
        overlay(overlay(gen_random_uuid()::text PLACING lpad(to_hex(\(partition)), 2, '0') FROM 1 FOR 2) PLACING '8' FROM 15 FOR 1)::uuid
        """
    }

    // MARK: - Importing

    /// The last row of a conversation, the number of its rows, and its size in bytes.
    static func end(of conversation: ConversationKey) -> Query<End> { Query(endStatement, .text(conversation.text)) }

    struct End {
        let last: Int64
        let rows: Int
        let size: Int
        /// Whether the conversation exists, with or without rows.
        let exists: Bool
        /// Other values after any change of the conversation; -1 without one.
        let epoch: Int64
        let revision: Int64
    }

    // The rows up to the last piece of an import are known, unless rows were removed or edited since: then the version is another one.
    private static let endStatement = Statement(
        "conversation_end", after: .rowScope, .text, returnsBinary: true,
        sql: """
            SELECT l.last, CASE WHEN v.counted[1] = v.epoch AND v.counted[2] = v.base
                    THEN v.counted[4] + (SELECT count(*) FROM chatts WHERE appid = $1 AND seq > v.counted[3])
                    ELSE (SELECT count(*) FROM chatts WHERE appid = $1) END,
                CASE WHEN l.last > 0 THEN l.total ELSE 0 END, l.last > 0 OR v.appid IS NOT NULL,
                coalesce(v.epoch, -1), coalesce(v.revision, -1)
            FROM \(ConversationStatements.tip) AS l LEFT JOIN chatterd_conversations v ON v.appid = $1
            """
    ) { row in
        End(
            last: Int64(row.nextInt()), rows: row.nextInt(), size: row.nextInt(), exists: row.nextBool(),
            epoch: Int64(row.nextInt()), revision: Int64(row.nextInt()))
    }

    /// Adds imported rows behind row `last`, and the data of the conversation if the rows are its first ones. It adds none if another
    /// row is the last one. It locks the conversation before its rows, like every change of both, and counts one change.
    ///
    /// - Parameters:
    ///   - count: the number of rows that the conversation has then. The next piece needs it.
    ///   - end: the one with which the rows were counted; `nil` for a new conversation.
    /// - Returns: one row if the rows are stored.
    static func add(
        _ columns: ConversationColumns, _ header: ConversationHeader?, to key: ConversationKey, after last: Int64,
        count: Int, from end: End?
    ) -> Query<Void> {
        Query(
            addStatement,
            parameters: [
                .text(key.text), .int8(last), .text(key.owner.keyPrefix), .boolean(header != nil),
                header?.title.map { .text($0) } ?? .null, .int8(header?.createdAt ?? 0), .int8(header?.updatedAt ?? 0),
                header?.archivedAt.map { .int8($0) } ?? .null, .int8(Int(Partition(of: key.owner).number)),
            ] + columns.parameters + [.int8(count), .int8(Int(end?.epoch ?? -1)), .int8(Int(end?.revision ?? -1))])
    }

    private static let addStatement = Statement(
        "import_rows", after: .rowScope, .text, .int8, .text, .boolean, .text, .int8, .int8, .int8, .int8, .int8Array,
        .int8Array,
        .int8Array,
        .int8Array, .int8Array, .int8Array, .int8Array, .textArray, .textArray, .textArray, .textArray, .textArray,
        .textArray,
        .textArray, .textArray, .textArray, .int8, .int8, .int8,
        sql: """
            WITH place AS (
                SELECT l.floor = l.last AS is_quiet FROM \(ConversationStatements.tip) AS l WHERE l.last = $2
            ), conversation AS (
                INSERT INTO chatterd_conversations AS c (appid, owner, title, created_at, updated_at, changed_in, archived_at)
                SELECT $1, $3, $5, CASE WHEN $4 THEN \(time("$6")) ELSE now() END, u.time,
                    \(ConversationRevision.period(of: "u.time")), \(time("$8"))
                FROM place, LATERAL (SELECT CASE WHEN $4 THEN \(time("$7")) ELSE now() END) AS u (time)
                ON CONFLICT (appid) DO UPDATE SET
                    \(ConversationRevision.listed("c")),
                    title = CASE WHEN $4 THEN excluded.title ELSE c.title END,
                    created_at = CASE WHEN $4 THEN excluded.created_at ELSE c.created_at END,
                    updated_at = CASE WHEN $4 THEN excluded.updated_at ELSE c.updated_at END,
                    changed_in = CASE WHEN $4 THEN excluded.changed_in ELSE c.changed_in END,
                    archived_at = CASE WHEN $4 THEN excluded.archived_at ELSE c.archived_at END,
                    revision = c.revision + 1, base = c.revision + 1,
                    counted = CASE WHEN c.epoch = $27 AND c.revision = $28 THEN ARRAY[
                        c.epoch, c.revision + 1, greatest($2, (SELECT max(r.seq) FROM unnest($10) AS r (seq))), $26] END
                RETURNING c.appid
            ), added AS (
                INSERT INTO chatts (
                    appid, seq, after, turn, time, attempt, finished, total, state, name, message, thinking, extras, model,
                    options, last_event, account, id, floor)
                SELECT c.appid, r.seq, nullif(r.after, -1), nullif(r.turn, -1), \(time("r.time")), nullif(r.attempt, -1),
                    \(time("nullif(r.finished, \(ConversationColumns.noTime))")), nullif(r.total, -1), nullif(r.state, ''), r.name, r.message,
                    nullif(r.thinking, ''), nullif(r.extras, ''), nullif(r.model, ''), nullif(r.options, ''),
                    nullif(r.last_event, ''), nullif(r.account, ''),
                    CASE WHEN r.turn = r.seq THEN \(newReplyID(in: "$9")) ELSE gen_random_uuid() END,
                    CASE WHEN place.is_quiet THEN r.seq - 1 END
                FROM place, conversation c, unnest($10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
                    AS r (seq, after, turn, time, attempt, finished, total, state, name, message, thinking, extras, model,
                        options, last_event, account)
            )
            SELECT FROM place
            """)

    // MARK: - Pieces

    private static func isMessage(_ table: String) -> String { "\(table)state IS DISTINCT FROM 'choice'" }

    private static func microseconds(_ time: String) -> String { "(extract(epoch FROM \(time)) * 1000000)::bigint" }

    /// A time from its microseconds since 1970, exactly.
    private static func time(_ microseconds: String) -> String {
        "'1970-01-01T00:00:00Z'::timestamptz + \(microseconds) * interval '1 microsecond'"
    }
}
