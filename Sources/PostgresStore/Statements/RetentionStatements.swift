import ChatterdPostgres

/// The SQL that clears away what has outlived its use. Each statement does a bounded piece.
enum RetentionStatements {
    /// The next $2 conversations after $1, and whether nothing was added to them for $3 microseconds. Steps from one to the next
    /// in the primary key.
    static let nextConversations = Statement(
        "next_conversations", .text, .int8, .int8,
        sql: """
            WITH RECURSIVE conversation (appid, place) AS (
                (SELECT appid, 1 FROM chatts WHERE appid > $1 ORDER BY appid LIMIT 1)
                UNION ALL
                SELECT (SELECT c.appid FROM chatts c WHERE c.appid > a.appid ORDER BY c.appid LIMIT 1), a.place + 1
                FROM conversation a WHERE a.appid IS NOT NULL AND a.place < $2
            )
            SELECT a.appid, \(isExpired("a.appid")) FROM conversation a WHERE a.appid IS NOT NULL
            """)

    /// Removes the last $2 rows of a conversation if still nothing was added to it for $3 microseconds.
    static let expireRows = Statement(
        "expire_rows", .text, .int8, .int8,
        sql: """
            DELETE FROM chatts WHERE appid = $1 AND \(isExpired("$1")) AND seq >= (
                SELECT min(seq) FROM (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT $2) AS l)
            """)

    /// Removes names of requests that are no longer remembered, at most $1.
    static let expireKeys = Statement(
        "expire_keys", .int8,
        sql: """
            DELETE FROM chatterd_keys WHERE (appid, key) IN (
                SELECT appid, key FROM chatterd_keys WHERE expires_at <= now() ORDER BY expires_at LIMIT $1)
                AND expires_at <= now()
            """)

    /// Removes what processes were told a minute ago.
    static let expireSignals = Statement(
        "expire_signals", sql: "DELETE FROM chatterd_signals WHERE at < now() - interval '1 minute'")

    /// The next $3 replies in the journal after ($1, $2), and whether they are over.
    static let nextJournals = Statement(
        "next_journals", .text, .uuid, .int8, returnsBinary: true,
        sql: """
            WITH RECURSIVE journal (appid, reply, place) AS (
                (SELECT appid, reply, 1 FROM chatterd_journal WHERE (appid, reply) > ($1, $2)
                    ORDER BY appid, reply LIMIT 1)
                UNION ALL
                SELECT n.appid, n.reply, a.place + 1
                FROM journal a
                CROSS JOIN LATERAL (
                    SELECT j.appid, j.reply FROM chatterd_journal j WHERE (j.appid, j.reply) > (a.appid, a.reply)
                    ORDER BY j.appid, j.reply LIMIT 1) AS n
                WHERE a.place < $3
            )
            SELECT a.appid, a.reply, NOT EXISTS (
                SELECT FROM chatts c WHERE c.appid = a.appid AND c.id = a.reply AND c.turn = c.seq AND c.state = 'streaming')
            FROM journal a
            """)

    private static func isExpired(_ appID: String) -> String {
        """
        CASE WHEN (
            SELECT greatest(t.time, t.finished) < now() - $3 * interval '1 microsecond'
            FROM chatts t WHERE t.appid = \(appID) ORDER BY t.seq DESC LIMIT 1)
        THEN NOT EXISTS (
            SELECT FROM chatts s WHERE s.appid = \(appID) AND s.turn = s.seq AND s.state = 'streaming'
                AND NOT \(LeaseStatements.isDead("s.holder")))
        ELSE false END
        """
    }
}
