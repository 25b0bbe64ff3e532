import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that adds messages to the end of a conversation, outside of turns, and removes the last one. The transactions have locked the
/// conversation, so each statement sees all earlier changes.
enum ItemStatements {
    /// A message that a statement has added.
    struct Added {
        let seq: Int64
        let id: ReplyID
    }

    /// Appends messages. It adds none if the conversation does not exist, has a running reply, or would exceed `limit` bytes.
    ///
    /// Feeds read the conversation again: they have no event for messages outside of turns.
    static func add(_ messages: [ModelMessage], to key: ConversationKey, limit: Int) -> Query<Added> {
        Query(
            addStatement, .text(key.text), .textArray(messages.map(\.role)), .textArray(messages.map(\.content)),
            .textArray(messages.map { $0.extras ?? "" }), .int8(limit), ConversationRevision.owner(of: key))
    }

    // No reply is running, so the floor of each row is the number before it.
    private static let addStatement = Statement(
        "add_items", after: .rowScope, .text, .textArray, .textArray, .textArray, .int8, .text, returnsBinary: true,
        sql: """
            WITH items AS MATERIALIZED (
                SELECT name, message, extras, ordinal, (sum(size) OVER (ORDER BY ordinal) - size)::bigint AS before,
                    (sum(size) OVER ())::bigint AS whole
                FROM (
                    SELECT p.name, p.message, p.extras, p.ordinal, octet_length(p.message)
                        + \(AttachmentStatements.size("p.extras")) + \(ConversationStatements.rowCost) AS size
                    FROM (
                        SELECT u.name, u.message, nullif(u.extras, '') AS extras, u.ordinal
                        FROM unnest($2, $3, $4) WITH ORDINALITY AS u (name, message, extras, ordinal)) AS p) AS s
            ), l AS MATERIALIZED (
                SELECT t.last, t.total FROM \(ConversationStatements.tip()) AS t
                WHERE (t.last > 0 OR EXISTS (SELECT FROM chatterd_conversations WHERE appid = $1))
                    AND t.total + (SELECT max(whole) FROM items) <= $5
                    AND NOT EXISTS (SELECT FROM chatts WHERE \(ReplyFloor.isRunning()))
            ), \(ConversationRevision.changed(owner: "$6", from: "l", rebases: true))
            INSERT INTO chatts (appid, seq, name, message, extras, total, opened, floor)
            SELECT $1, l.last + i.ordinal, i.name, i.message, i.extras, l.total + i.before, changed.revision,
                l.last + i.ordinal - 1
            FROM changed, l, items i
            RETURNING seq, id
            """
    ) { row in
        Added(seq: Int64(row.nextInt()), id: row.nextReplyID())
    }

    /// Removes a message outside of turns. It removes none if the conversation has changed since a revision.
    static func remove(_ seq: Int64, id: ReplyID, of key: ConversationKey, at revision: Int64) -> Query<Void> {
        Query(removeStatement, .text(key.text), .int8(seq), .uuid(id), .int8(revision))
    }

    private static let removeStatement = Statement(
        "remove_item", after: .rowScope, .text, .int8, .uuid, .int8,
        sql: """
            WITH gone AS (
                DELETE FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3 AND turn IS NULL AND state IS NULL
                    AND (SELECT revision FROM chatterd_conversations WHERE appid = $1) = $4
                RETURNING seq
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT FROM gone
            """)

    /// Replaces the text and the further members of a message outside of turns. It replaces none if the conversation has changed since a
    /// revision.
    static func replace(
        _ seq: Int64, id: ReplyID, of key: ConversationKey, at revision: Int64, content: [UInt8], extras: [UInt8]
    ) -> Query<Void> {
        Query(
            replaceStatement, .text(key.text), .int8(seq), .uuid(id), .int8(revision), .utf8(content), .utf8(extras))
    }

    private static let replaceStatement = Statement(
        "replace_item", after: .rowScope, .text, .int8, .uuid, .int8, .text, .text,
        sql: """
            WITH edited AS (
                UPDATE chatts SET message = $5, extras = nullif($6, '')
                WHERE appid = $1 AND seq = $2 AND id = $3 AND turn IS NULL AND state IS NULL
                    AND (SELECT revision FROM chatterd_conversations WHERE appid = $1) = $4
                RETURNING seq
            ), \(ConversationRevision.rebased(from: "edited"))
            SELECT FROM edited
            """)
}
