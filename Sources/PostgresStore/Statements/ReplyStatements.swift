import ChatterdPostgres
import ChatterdRelay

/// The SQL of replies: how they end, and how they are read. Every statement but `find` touches the rows of one appID.
enum ReplyStatements {
    // Four conditions fence the end of a reply: its name, its owner, its attempt, and the state `streaming`. The first committed
    // close wins. A repeated or late close changes no row.

    /// Stores the end of a reply of which nothing is journalled.
    static let close = Statement(
        "close_turn", .text, .int8, .uuid, .uuid, .text, .text, .text, .text, .text, .text, .int8,
        sql: """
            UPDATE chatts SET
                state = $5, message = $6, thinking = nullif($7, ''), extras = \(extras("$8")),
                last_event = nullif($9, ''), account = nullif($10, ''), finished = now()
            WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$11"))
            """)

    /// Stores the end of a reply behind the first $12 bytes of its journal: $13 of text, $14 of thoughts, $15 of tool calls.
    ///
    /// The statement updates no row if the journal holds less: the complete output is stored, or none of it.
    static let closeJournalled = Statement(
        "close_journalled_turn", .text, .int8, .uuid, .uuid, .text, .text, .text, .text, .text, .text, .int8, .int8,
        .int8, .int8, .int8,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT appid, seq, id, coalesce(attempt, 1) AS attempt FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$11"))
                FOR NO KEY UPDATE
            ), \(folded("reply", until: "$12")), stored AS (
                UPDATE chatts c SET
                    state = $5, message = f.text || $6, thinking = nullif(f.thinking || $7, ''),
                    extras = \(extras("f.calls || $8")),
                    last_event = nullif($9, ''), account = nullif($10, ''), finished = now()
                FROM reply r JOIN folded f ON f.reply = r.id
                WHERE c.appid = r.appid AND c.seq = r.seq AND octet_length(f.text) = $13
                    AND octet_length(f.thinking) = $14 AND octet_length(f.calls) = $15
                RETURNING c.appid, c.id
            ), \(cleared)
            SELECT FROM stored
            """)

    /// Closes a reply of this process as interrupted after the database has lost a part of its journal: with the text up to the
    /// gap, and a last event that reports the loss.
    static let closeCut = Statement(
        "close_cut_turn", .text, .int8, .uuid, .uuid, .int8,
        sql: """
            WITH dead AS MATERIALIZED (
                SELECT appid, seq, id, coalesce(attempt, 1) AS attempt FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$5"))
                FOR NO KEY UPDATE
            ), \(settled(isCut: "true"))
            """)

    /// The state of a reply, its attempt, whether process $4 is or was its last owner, and its last event.
    static let ownership = Statement(
        "reply_ownership", .text, .int8, .uuid, .uuid, returnsBinary: true,
        sql: """
            SELECT state, coalesce(attempt, 1), \(isHolder("holder", "$4")), last_event FROM chatts
            WHERE appid = $1 AND seq = $2 AND id = $3
            """)

    /// Closes a turn as interrupted if its process is dead: this one, when the caller says so, or one without a lease.
    ///
    /// What is to be made again is left to who makes it, unless $5 says that nobody wants it. It may be this process, which
    /// has just adopted it and does not know yet: then the number of adoptions says nothing.
    static let settleTurn = Statement(
        "settle_turn", .text, .int8, .uuid, .boolean, .boolean,
        sql: """
            WITH dead AS MATERIALIZED (
                SELECT c.appid, c.seq, c.id, coalesce(c.attempt, 1) AS attempt FROM chatts c
                WHERE c.appid = $1 AND c.seq = $2 AND c.state = 'streaming'
                    AND CASE WHEN c.holder = $3 THEN $4 AND ($5 OR c.on_interrupt IS NULL)
                        ELSE ($5 OR \(isRegenerated) IS NOT TRUE) AND \(LeaseStatements.isDead("c.holder")) END
                FOR NO KEY UPDATE
            ), \(settled())
            """)

    /// Closes turns that were given up as interrupted, at most $1; not those that are to be made again.
    static let settleAbandoned = Statement(
        "settle_abandoned", .int8,
        sql: """
            WITH dead AS MATERIALIZED (
                SELECT c.appid, c.seq, c.id, coalesce(c.attempt, 1) AS attempt FROM chatts c
                WHERE \(LeaseStatements.isAbandoned("c")) AND \(isRegenerated) IS NOT TRUE
                LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
            ), \(settled())
            """)

    /// Adopts turns that were released or handed over and that are to be regenerated, at most $2. It skips the replies $3.
    static let adopt = Statement(
        "adopt", .uuid, .int8, .uuidArray, returnsBinary: true,
        sql: """
            WITH dead AS MATERIALIZED (
                SELECT c.appid, c.seq FROM chatts c WHERE \(LeaseStatements.isAbandoned("c")) AND \(isRegenerated)
                    AND c.id <> ALL ($3)
                LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
            ), stored AS (
                UPDATE chatts c SET
                    holder = $1, attempt = coalesce(c.attempt, 1) + 1,
                    adoptions = coalesce(c.adoptions, 0) + CASE WHEN \(LeaseStatements.isHandedOver("c")) THEN 0 ELSE 1 END
                FROM dead d WHERE c.appid = d.appid AND c.seq = d.seq
                RETURNING c.appid, c.seq, c.id, c.model, c.options, c.attempt
            ), \(cleared)
            SELECT appid, seq, id, model, options, attempt FROM stored
            """)

    /// Restarts a reply of this process: attempt $5 ends, and the next attempt starts.
    ///
    /// A repeated or late restart finds another attempt and changes nothing. It would otherwise delete the journal of the new
    /// attempt.
    static let restart = Statement(
        "restart_turn", .text, .int8, .uuid, .uuid, .int8, returnsBinary: true,
        sql: """
            WITH stored AS (
                UPDATE chatts c SET attempt = $5 + 1
                WHERE c.appid = $1 AND c.seq = $2 AND c.id = $3 AND \(isOwned("c.", by: "$4", attempt: "$5"))
                RETURNING c.appid, c.id, c.attempt
            ), \(cleared)
            SELECT attempt FROM stored
            """)

    /// Whether a turn is closed, or gone; and if not, whether process $3 holds it, and whether a dead process does.
    static let isSettled = Statement(
        "is_settled", .text, .int8, .uuid,
        sql: """
            SELECT count(*) = 0, bool_or(\(isHolder("holder", "$3"))), bool_or(\(LeaseStatements.isDead("holder"))) FROM chatts
            WHERE appid = $1 AND seq = $2 AND state = 'streaming'
            """)

    /// A reply by its name; times in microseconds since 1970.
    static let find = Statement(
        "find_reply", .uuid, returnsBinary: true,
        sql: """
            SELECT c.appid, c.seq, c.model, c.state, coalesce(c.attempt, 1),
                c.state = 'streaming' AND \(LeaseStatements.isDead("c.holder")),
                (extract(epoch FROM c.time) * 1000000)::bigint,
                (extract(epoch FROM CASE WHEN c.state <> 'streaming' THEN coalesce(c.finished, c.time) END) * 1000000)::bigint,
                c.account
            FROM chatts c WHERE c.id = $1 AND c.turn = c.seq
            """)

    /// The row of a reply. For a closed reply also its text from byte $4 and its thoughts from byte $5, $6 bytes of each.
    static let read = Statement(
        "read_reply", .text, .int8, .uuid, .int8, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT state, coalesce(attempt, 1), last_event, octet_length(message), octet_length(coalesce(thinking, '')),
                CASE WHEN state <> 'streaming' THEN substring(convert_to(message, 'UTF8'), $4::integer + 1, $6::integer) END,
                CASE WHEN state <> 'streaming' THEN substring(convert_to(thinking, 'UTF8'), $5::integer + 1, $6::integer) END,
                CASE WHEN state <> 'streaming' THEN extras END
            FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3 AND turn = seq
            """)

    /// Whether a process holds a row that the key has found.
    ///
    /// Not by `=`: on a table without statistics the planner takes the index on holders for as good as the key, and
    /// all rows of the process would be gone through for each reply.
    static func isHolder(_ holder: String, _ process: String) -> String {
        "\(holder) IS NOT DISTINCT FROM \(process)"
    }

    /// Whether process `holder` owns a running reply at this attempt.
    private static func isOwned(_ table: String, by holder: String, attempt: String) -> String {
        "\(isHolder("\(table)holder", holder)) AND coalesce(\(table)attempt, 1) = \(attempt) AND \(table)state = 'streaming'"
    }

    /// Whether another process may adopt a reply whose owner is gone. A reply that was handed over qualifies. A reply whose client
    /// wants it regenerated qualifies until it was adopted from dead owners twice, however many attempts each of them had. A
    /// stopped reply does not qualify.
    private static let isRegenerated = """
        ((\(LeaseStatements.isHandedOver("c")) OR c.on_interrupt = 'regenerate' AND coalesce(c.adoptions, 0) < 2)
            AND NOT \(isStopped("c")))
        """

    /// Whether a client has asked the owner of a reply to stop it.
    static func isStopped(_ reply: String) -> String {
        "EXISTS (SELECT FROM chatterd_signals s WHERE s.reply = \(reply).id AND s.kind = 'stop')"
    }

    private static func extras(_ calls: String) -> String {
        "CASE WHEN \(calls) <> '' THEN '\"tool_calls\":[' || \(calls) || ']' END"
    }

    /// The journal of the replies in `source`, in order, up to the first gap. Bytes that two pieces share count once. `is_cut` says
    /// whether pieces exist behind a gap.
    ///
    /// A gap precedes a piece if any of its parts starts beyond the end of that part in the pieces before it. All later pieces are
    /// behind the gap too. So a loss of thoughts also drops the text that follows them.
    private static func folded(_ source: String, until limit: String) -> String {
        func part(_ name: String) -> String {
            """
            coalesce(string_agg(
                CASE WHEN \(name)_had <= \(name)_at THEN \(name)
                ELSE convert_from(substring(convert_to(\(name), 'UTF8'), (\(name)_had - \(name)_at + 1)::integer), 'UTF8') END,
                '' ORDER BY start) FILTER (WHERE NOT is_lost), '') AS \(name)
            """
        }
        func had(_ name: String) -> String {
            "coalesce(max(j.\(name)_at + octet_length(j.\(name))) OVER before, 0) AS \(name)_had"
        }
        return """
            pieces AS (
                SELECT p.*, bool_or(text_at > text_had OR thinking_at > thinking_had OR calls_at > calls_had)
                    OVER (PARTITION BY p.reply ORDER BY p.start) AS is_lost
                FROM (
                    SELECT j.*, \(had("text")), \(had("thinking")), \(had("calls"))
                    FROM \(source) r
                    JOIN chatterd_journal j
                        ON j.appid = r.appid AND j.reply = r.id AND j.attempt = r.attempt AND j.start < \(limit)
                    WINDOW before AS (
                        PARTITION BY j.reply ORDER BY j.start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                ) AS p
            ), folded AS (
                SELECT r.id AS reply, \(part("text")), \(part("thinking")), \(part("calls")),
                    coalesce(bool_or(is_lost), false) AS is_cut
                FROM \(source) r LEFT JOIN pieces ON reply = r.id GROUP BY r.id
            )
            """
    }

    /// Removes the journal of what was `stored`.
    private static let cleared = """
        cleared AS (
            DELETE FROM chatterd_journal j USING stored s WHERE j.appid = s.appid AND j.reply = s.id
        )
        """

    /// Ends the replies that are `dead`, with what the journal holds of them.
    ///
    /// - Parameter isCut: whether their last event reports the loss of the rest of the text.
    private static func settled(isCut: String = "f.is_cut") -> String {
        """
        \(folded("dead", until: "9223372036854775807")), stored AS (
            UPDATE chatts c SET
                state = 'interrupted', message = f.text, thinking = nullif(f.thinking, ''), extras = \(extras("f.calls")),
                last_event = CASE WHEN \(isCut) THEN \(lossEvent) END, finished = now(), holder = NULL
            FROM dead d JOIN folded f ON f.reply = d.id
            WHERE c.appid = d.appid AND c.seq = d.seq
            RETURNING c.appid, c.id
        ), \(cleared)
        SELECT FROM stored
        """
    }

    /// The data of the `error` event of a reply, `c`, whose text has a gap: as `ReplyEvents.appendError` writes it.
    private static var lossEvent: String {
        let error = RelayError.textLost
        return """
            '{"error":"\(error.message)","code":"\(error.code.rawValue)","retryable":\(error.code.isRetryable),"model":'
            || to_json(coalesce(c.model, ''))
            || ',"created_at":"' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            || '","message":{"role":"assistant","content":"\(error.message)"},"done":true}'
            """
    }
}
