import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of the ends of replies of which hooks are to be told.
enum DeliveryStatements {
    /// Adds a delivery for each hook, if the transaction has ended the reply of a turn.
    static func add(endOf turn: Turn, for hooks: [String]) -> Query<Void> {
        Query(addStatement, .text(turn.conversation.text), .int8(turn.number), .textArray(hooks))
    }

    private static let addStatement = Statement(
        "add_delivery", after: .rowScope, .text, .int8, .textArray,
        sql: """
            WITH stored AS MATERIALIZED (
                SELECT c.appid, c.seq, c.id, c.state FROM chatts c
                WHERE c.appid = $1 AND c.seq = $2 AND c.xmin = pg_current_xact_id()::xid AND c.state <> 'streaming'
            )
            \(insert(hooks: "$3"))
            """)

    /// Inserts the deliveries of the replies in `stored`.
    static func insert(hooks: String) -> String {
        """
        INSERT INTO chatterd_deliveries (hook, appid, seq, reply, state)
        SELECT h.name, s.appid, s.seq, s.id, s.state FROM stored s, unnest(\(hooks)) AS h (name)
        """
    }

    /// The times until the next attempt, in seconds, after each attempt: the first one covers a process that dies during it.
    private static let pauses = "ARRAY[30, 60, 300, 1800, 7200, 21600, 43200, 86400, 86400]"

    /// Takes deliveries to a hook that are due, and makes each due again, should it fail.
    static func take(limit: Int, for hook: String) -> Query<StoredDelivery> {
        Query(takeStatement, .int8(limit), .text(hook))
    }

    private static let takeStatement = Statement(
        "take_deliveries", .int8, .text, returnsBinary: true,
        sql: """
            UPDATE chatterd_deliveries d SET
                attempts = d.attempts + 1,
                due = now() + (\(pauses))[least(d.attempts + 1, array_length(\(pauses), 1))] * interval '1 second'
            FROM (
                SELECT id FROM chatterd_deliveries WHERE hook = $2 AND due <= now() ORDER BY due LIMIT $1 FOR UPDATE SKIP LOCKED) AS n
            WHERE d.id = n.id
            RETURNING d.id, d.hook, d.appid, d.seq, d.reply, d.state, d.attempts, d.attempts > array_length(\(pauses), 1),
                \(StoredTime.microseconds("d.created"))
            """
    ) { row in
        StoredDelivery(
            id: row.nextReplyID(), hook: row.nextText(), conversation: ConversationKey(parsing: row.nextText()),
            number: Int64(row.nextInt()), reply: row.nextReplyID(), state: row.nextText(), attempts: row.nextInt(),
            isLast: row.nextBool(), createdAt: Int64(row.nextInt()))
    }

    /// Removes the deliveries that no process has taken for long: to hooks that are gone.
    static let removeForgotten = Query(removeForgottenStatement)

    private static let removeForgottenStatement = Statement(
        "remove_forgotten_deliveries", sql: "DELETE FROM chatterd_deliveries WHERE due < now() - interval '3 days'")

    /// The row of the reply of a delivery; no row if it is gone.
    static func reply(of delivery: StoredDelivery, withText: Bool) -> Query<StoredDelivery.Reply> {
        Query(
            replyStatement, .text(delivery.conversation.text), .int8(delivery.number), .uuid(delivery.reply),
            .boolean(withText))
    }

    private static let replyStatement = Statement(
        "delivered_reply", .text, .int8, .uuid, .boolean, returnsBinary: true,
        sql: """
            SELECT model, last_event, CASE WHEN $4 THEN message END FROM chatts
            WHERE appid = $1 AND seq = $2 AND id = $3
            """
    ) { row in
        StoredDelivery.Reply(model: row.nextText(), lastEvent: row.nextBytes(), text: row.nextBytes())
    }

    /// Removes a delivery.
    static func remove(_ delivery: StoredDelivery) -> Query<Void> { Query(removeStatement, .uuid(delivery.id)) }

    private static let removeStatement = Statement(
        "remove_delivery", .uuid, sql: "DELETE FROM chatterd_deliveries WHERE id = $1")
}
