import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that removes old data. Each statement removes a bounded number of rows.
enum RetentionStatements {
    /// The next conversations after a key, at most `limit`. Steps from one to the next in the primary key.
    static func nextConversations(after key: String, limit: Int, age: Duration) -> Query<Conversation> {
        Query(nextConversationsStatement, .text(key), .int8(limit), .int8(age.microseconds))
    }

    struct Conversation {
        let key: ConversationKey
        /// By how much the last addition to the conversation is older than the age; `nil` if it is not, or a reply runs.
        let lag: Duration?
    }

    private static let nextConversationsStatement = Statement(
        "next_conversations", .text, .int8, .int8,
        sql: """
            WITH RECURSIVE conversation (appid, step) AS (
                (SELECT appid, 1 FROM chatts WHERE appid > $1 ORDER BY appid LIMIT 1)
                UNION ALL
                SELECT (SELECT c.appid FROM chatts c WHERE c.appid > a.appid ORDER BY c.appid LIMIT 1), a.step + 1
                FROM conversation a WHERE a.appid IS NOT NULL AND a.step < $2
            )
            SELECT a.appid, CASE WHEN \(isExpired("a.appid")) THEN (
                SELECT (extract(epoch FROM now() - greatest(t.time, t.finished)) * 1000000)::int8 - $3
                FROM chatts t WHERE t.appid = a.appid ORDER BY t.seq DESC LIMIT 1) END
            FROM conversation a WHERE a.appid IS NOT NULL
            """
    ) { row in
        Conversation(
            key: ConversationKey(parsing: row.nextText()),
            lag: row.nextOptionalInt().map { .microseconds(max(0, $0)) })
    }

    /// Removes the last `limit` rows of a conversation, if its last addition is still older than an age.
    static func expireRows(of conversation: ConversationKey, limit: Int, age: Duration) -> Query<Void> {
        Query(expireRowsStatement, .text(conversation.text), .int8(limit), .int8(age.microseconds))
    }

    private static let expireRowsStatement = Statement(
        "expire_rows", after: .rowScope, .text, .int8, .int8,
        sql: """
            WITH gone AS (
                DELETE FROM chatts WHERE appid = $1 AND \(isExpired("$1")) AND seq >= (
                    SELECT min(seq) FROM (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT $2) AS l)
                RETURNING seq
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT FROM gone
            """)

    /// Examines the next rows of conversations after a key, at most `limit`, and removes those of conversations without messages
    /// whose last change is older than an age. It skips rows that another transaction changes now.
    static func expireEmpty(after key: String, limit: Int, age: Duration) -> Query<Examined> {
        Query(expireEmptyStatement, .text(key), .int8(limit), .int8(age.microseconds))
    }

    /// The rows that `expireEmpty` has examined.
    struct Examined {
        /// The key of the last one; empty without rows.
        let last: String
        let count: Int
    }

    private static let expireEmptyStatement = Statement(
        "expire_empty", .text, .int8, .int8,
        sql: """
            WITH page AS MATERIALIZED (
                SELECT appid FROM chatterd_conversations WHERE appid > $1 ORDER BY appid LIMIT $2
            ), empty AS MATERIALIZED (
                SELECT v.appid FROM chatterd_conversations v
                WHERE v.appid IN (SELECT p.appid FROM page p) AND v.updated_at < now() - $3 * interval '1 microsecond'
                    AND NOT EXISTS (SELECT FROM chatts c WHERE c.appid = v.appid)
                ORDER BY v.appid FOR UPDATE SKIP LOCKED
            ), gone AS (
                DELETE FROM chatterd_conversations v USING empty e WHERE v.appid = e.appid
            )
            SELECT max(appid), count(*) FROM page
            """
    ) { row in
        Examined(last: row.nextText(), count: row.nextInt())
    }

    /// Removes conversations of requests without an identity that have had no change for an age and have no running reply, at most
    /// `limit`. It skips rows that another transaction changes now.
    ///
    /// - Returns: the number of removed conversations.
    static func expireStateless(limit: Int, age: Duration) -> Query<Int> {
        Query(expireStatelessStatement, .int8(limit), .int8(age.microseconds))
    }

    private static let expireStatelessStatement = Statement(
        "expire_stateless", .int8, .int8,
        sql: """
            WITH old AS MATERIALIZED (
                SELECT v.appid FROM chatterd_conversations v
                WHERE right(v.owner, 1) = E'\\x1E' AND v.updated_at < now() - $2 * interval '1 microsecond' AND \(isOver)
                ORDER BY v.appid LIMIT $1 FOR UPDATE SKIP LOCKED
            ), \(removal)
            """
    ) { row in
        row.nextInt()
    }

    /// Removes single requests that nothing has followed for an age, at most `limit`. The mark of the owner is not enough: a process of an
    /// earlier version adds turns and does not change it.
    ///
    /// - Returns: the number of removed requests.
    static func expireSingles(limit: Int, age: Duration) -> Query<Int> {
        Query(expireSinglesStatement, .int8(limit), .int8(age.microseconds))
    }

    private static let expireSinglesStatement = Statement(
        "expire_singles", .int8, .int8,
        sql: """
            WITH old AS MATERIALIZED (
                SELECT v.appid FROM chatterd_conversations v
                WHERE \(ConversationRevision.isSingle("v.owner")) AND v.changed_in < now() - $2 * interval '1 microsecond'
                    AND \(isOver) AND (
                        SELECT count(*) FROM (
                            SELECT FROM chatts s WHERE s.appid = v.appid AND (s.state IS NULL OR s.turn = s.seq) LIMIT 2) AS s) < 2
                ORDER BY v.changed_in LIMIT $1 FOR UPDATE SKIP LOCKED
            ), \(removal)
            """
    ) { row in
        row.nextInt()
    }

    // The conditions on `owner` are those of indexes.
    private static let isOver = """
        NOT EXISTS (SELECT FROM chatts s WHERE s.appid = v.appid AND s.turn = s.seq AND s.state = 'streaming')
        """
    private static let removal = """
        gone AS (
            DELETE FROM chatts c USING old o WHERE c.appid = o.appid
        ), removed AS (
            DELETE FROM chatterd_conversations v USING old o WHERE v.appid = o.appid RETURNING v.appid
        )
        SELECT count(*) FROM removed
        """

    /// Removes expired idempotency keys, at most `limit`. It skips those that another transaction changes now.
    static func expireKeys(limit: Int) -> Query<Void> { Query(expireKeysStatement, .int8(limit)) }

    private static let expireKeysStatement = Statement(
        "expire_keys", .int8,
        sql: """
            WITH old AS MATERIALIZED (
                SELECT appid, key FROM chatterd_keys WHERE expires_at <= now() ORDER BY expires_at LIMIT $1
                FOR UPDATE SKIP LOCKED
            )
            DELETE FROM chatterd_keys k USING old o WHERE k.appid = o.appid AND k.key = o.key
            """)

    /// Removes signals older than a minute.
    static let expireSignals = Query(
        Statement(
            "expire_signals", sql: "DELETE FROM chatterd_signals WHERE at < now() - interval '1 minute'"))

    /// The next replies in the journal after a reply, at most `limit`.
    static func nextJournals(after journal: Journal, limit: Int) -> Query<Journal> {
        Query(nextJournalsStatement, .text(journal.conversation.text), .uuid(journal.reply), .int8(limit))
    }

    /// A reply that has rows in the journal.
    struct Journal {
        let conversation: ConversationKey
        let reply: ReplyID
        /// Whether the reply is closed or gone.
        var isObsolete = false

        /// Before the first one.
        static let start = Journal(conversation: ConversationKey(parsing: ""), reply: ReplyID(high: 0, low: 0))
    }

    private static let nextJournalsStatement = Statement(
        "next_journals", .text, .uuid, .int8, returnsBinary: true,
        sql: """
            WITH RECURSIVE journal (appid, reply, step) AS (
                (SELECT appid, reply, 1 FROM chatterd_journal WHERE (appid, reply) > ($1, $2)
                    ORDER BY appid, reply LIMIT 1)
                UNION ALL
                SELECT n.appid, n.reply, a.step + 1
                FROM journal a
                CROSS JOIN LATERAL (
                    SELECT j.appid, j.reply FROM chatterd_journal j WHERE (j.appid, j.reply) > (a.appid, a.reply)
                    ORDER BY j.appid, j.reply LIMIT 1) AS n
                WHERE a.step < $3
            )
            SELECT a.appid, a.reply, NOT EXISTS (
                SELECT FROM chatts c WHERE c.appid = a.appid AND c.id = a.reply AND c.turn = c.seq AND c.state = 'streaming')
            FROM journal a
            """
    ) { row in
        Journal(
            conversation: ConversationKey(parsing: row.nextText()), reply: row.nextReplyID(),
            isObsolete: row.nextBool())
    }

    /// Whether the conversation with a key, as SQL, is expired.
    private static func isExpired(_ key: String) -> String {
        """
        CASE WHEN (
            SELECT greatest(t.time, t.finished) < now() - $3 * interval '1 microsecond'
            FROM chatts t WHERE t.appid = \(key) ORDER BY t.seq DESC LIMIT 1)
        THEN NOT EXISTS (
            SELECT FROM chatts s WHERE s.appid = \(key) AND s.turn = s.seq AND s.state = 'streaming'
                AND NOT \(LeaseStatements.isDead("s.holder")))
        ELSE false END
        """
    }
}
