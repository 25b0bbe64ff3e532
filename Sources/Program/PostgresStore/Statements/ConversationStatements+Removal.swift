import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres

// The SQL that removes or replaces the rows of a conversation.
extension ConversationStatements {
    /// Replaces a conversation by at least one message, and returns whether it had running replies.
    ///
    /// The numbers of turns are never used again, so a reply of a replaced turn finds no row.
    static func replace(_ conversation: ConversationKey, with messages: [ModelMessage]) -> Query<Bool> {
        Query(
            replaceStatement, .text(conversation.text), .textArray(messages.map(\.role)),
            .textArray(messages.map(\.content)), .textArray(messages.map { $0.extras ?? "" }),
            ConversationRevision.owner(of: conversation))
    }

    // The conditions on `keys` and `changed` are always true. They make the statement lock the keys first and the conversation next.
    // If another change came while the statement waited for the conversation, rows that it saw at its beginning are gone without it, and it does
    // not see those that came instead. It then adds the first message twice, which fails, and the transaction is repeated.
    private static let replaceStatement = Statement(
        "replace", after: .rowScope, .text, .textArray, .textArray, .textArray, .text,
        sql: """
            WITH keys AS (
                DELETE FROM chatterd_keys WHERE appid = $1
                    AND key IN (SELECT key FROM chatterd_keys WHERE appid = $1 ORDER BY key FOR UPDATE)
                RETURNING key
            ), \(ConversationRevision.changed(
                owner: "$5", from: "(SELECT count(*) AS count FROM keys) AS k WHERE k.count >= 0", rebases: true,
                clearsTools: true)),
            gone AS (
                DELETE FROM chatts WHERE appid = $1 AND (SELECT revision FROM changed) > 0 RETURNING seq, state
            ), stale AS (
                SELECT WHERE (SELECT count(*) FROM gone) <> (SELECT count(*) FROM chatts WHERE appid = $1)
            ), added AS (
                INSERT INTO chatts (appid, seq, name, message, extras, opened, floor)
                SELECT $1, l.last + p.ordinal, p.name, p.message, nullif(p.extras, ''), changed.revision,
                    l.last + p.ordinal - 1
                FROM changed, (
                        SELECT * FROM unnest($2, $3, $4) WITH ORDINALITY
                        UNION ALL SELECT '', '', '', 1 FROM stale
                    ) AS p (name, message, extras, ordinal),
                    (SELECT coalesce(max(seq), 0) AS last FROM gone) AS l
            )
            SELECT coalesce(bool_or(state = 'streaming'), false) FROM gone
            """
    ) { row in
        row.nextBool()
    }

    /// Removes at most `limit` rows from the end of a conversation, so that the rest stays consistent.
    static func deleteRows(of conversation: ConversationKey, limit: Int) -> Query<Deletion> {
        Query(deleteRowsStatement, .text(conversation.text), .int8(limit))
    }

    /// The rows that one statement removed.
    struct Deletion {
        let count: Int
        /// Whether replies were running among them.
        let hadRunningReplies: Bool
    }

    private static let deleteRowsStatement = Statement(
        "delete_rows", after: .rowScope, .text, .int8,
        sql: """
            WITH gone AS (
                DELETE FROM chatts WHERE appid = $1 AND seq >= (
                    SELECT min(seq) FROM (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT $2) AS l)
                RETURNING state
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT count(*), coalesce(bool_or(state = 'streaming'), false) FROM gone
            """
    ) { row in
        Deletion(count: row.nextInt(), hadRunningReplies: row.nextBool())
    }

    /// Removes at most `limit` idempotency keys of a conversation whose replies are gone. It compares the reply too, because
    /// another request may claim the key meanwhile. It locks the keys in their order, as `ConversationRevision` says.
    static func deleteKeys(of conversation: ConversationKey, limit: Int) -> Query<Void> {
        Query(deleteKeysStatement, .text(conversation.text), .int8(limit))
    }

    private static let deleteKeysStatement = Statement(
        "delete_keys", after: .rowScope, .text, .int8,
        sql: """
            DELETE FROM chatterd_keys WHERE appid = $1 AND (key, reply) IN (
                SELECT k.key, k.reply FROM chatterd_keys k
                WHERE k.appid = $1 AND NOT \(standsForReply)
                ORDER BY k.key LIMIT $2 FOR UPDATE)
            """)
}
