import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that stores imported rows of a conversation.
enum ImportStatements {
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
            FROM \(ConversationStatements.tip()) AS l LEFT JOIN chatterd_conversations v ON v.appid = $1
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
            ] + columns.parameters + [
                .int8(count), .int8(Int(end?.epoch ?? -1)), .int8(Int(end?.revision ?? -1)),
                .utf8(header?.metadata ?? []),
            ])
    }

    private static let addStatement = Statement(
        "import_rows", after: .rowScope, .text, .int8, .text, .boolean, .text, .int8, .int8, .int8, .int8, .int8Array,
        .int8Array,
        .int8Array,
        .int8Array, .int8Array, .int8Array, .int8Array, .textArray, .textArray, .textArray, .textArray, .textArray,
        .textArray,
        .textArray, .textArray, .textArray, .int8, .int8, .int8, .text,
        sql: """
            WITH place AS (
                SELECT l.floor = l.last AS is_quiet FROM \(ConversationStatements.tip()) AS l WHERE l.last = $2
            ), conversation AS (
                INSERT INTO chatterd_conversations AS c (
                    appid, owner, title, created_at, updated_at, changed_in, archived_at, metadata)
                SELECT $1, $3, $5, CASE WHEN $4 THEN \(StoredTime.time("$6")) ELSE now() END, u.time,
                    \(ConversationRevision.period(of: "u.time")), \(StoredTime.time("$8")), nullif($29, '')
                FROM place, LATERAL (SELECT CASE WHEN $4 THEN \(StoredTime.time("$7")) ELSE now() END) AS u (time)
                ON CONFLICT (appid) DO UPDATE SET
                    \(ConversationRevision.listed("c")),
                    title = CASE WHEN $4 THEN excluded.title ELSE c.title END,
                    created_at = CASE WHEN $4 THEN excluded.created_at ELSE c.created_at END,
                    updated_at = CASE WHEN $4 THEN excluded.updated_at ELSE c.updated_at END,
                    changed_in = CASE WHEN $4 THEN excluded.changed_in ELSE c.changed_in END,
                    archived_at = CASE WHEN $4 THEN excluded.archived_at ELSE c.archived_at END,
                    metadata = CASE WHEN $4 THEN excluded.metadata ELSE c.metadata END,
                    revision = c.revision + 1, base = c.revision + 1,
                    counted = CASE WHEN c.epoch = $27 AND c.revision = $28 THEN ARRAY[
                        c.epoch, c.revision + 1, greatest($2, (SELECT max(r.seq) FROM unnest($10) AS r (seq))), $26] END
                RETURNING c.appid
            ), added AS (
                INSERT INTO chatts (
                    appid, seq, after, turn, time, attempt, finished, total, state, name, message, thinking, extras, model,
                    options, last_event, account, id, floor)
                SELECT c.appid, r.seq, nullif(r.after, -1), nullif(r.turn, -1), \(StoredTime.time("r.time")), nullif(r.attempt, -1),
                    \(StoredTime.time("nullif(r.finished, \(ConversationColumns.noTime))")), nullif(r.total, -1), nullif(r.state, ''), r.name, r.message,
                    nullif(r.thinking, ''), nullif(r.extras, ''), nullif(r.model, ''), nullif(r.options, ''),
                    nullif(r.last_event, ''), nullif(r.account, ''),
                    CASE WHEN r.turn = r.seq THEN \(ReplyID.newSQL(in: "$9")) ELSE gen_random_uuid() END,
                    CASE WHEN place.is_quiet THEN r.seq - 1 END
                FROM place, conversation c, unnest($10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
                    AS r (seq, after, turn, time, attempt, finished, total, state, name, message, thinking, extras, model,
                        options, last_event, account)
            )
            SELECT FROM place
            """)
}
