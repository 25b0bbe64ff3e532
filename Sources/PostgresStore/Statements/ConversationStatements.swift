import ChatterdPostgres

/// The SQL of the conversations. Every statement touches the rows of one appID; order is by seq, never by time.
enum ConversationStatements {
    /// Appends the prompts of a new turn, and the row of its reply: the last element of the arrays.
    ///
    /// Two concurrent statements on one conversation compute the same places; the primary key accepts one of them. The statement
    /// inserts no row if the conversation would exceed $11 bytes with the $10 bytes of the prompts.
    static let openTurn = Statement(
        "open_turn", .text, .textArray, .textArray, .textArray, .uuid, .text, .uuid, .text, .text, .int8, .int8,
        sql: """
            INSERT INTO chatts (appid, seq, turn, name, message, extras, \(replyColumns))
            SELECT $1, l.last + p.place, l.last + cardinality($2), p.name, p.message, nullif(p.extras, ''),
                \(replyValues(bytes: "$10"))
            FROM unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, place), \(tip) AS l
            WHERE l.total + $10 <= $11
            RETURNING turn
            """)

    /// The statement for a turn that follows another turn than the last one, or whose request has a name. It inserts no row if
    /// the parent does not exist or the name is taken.
    ///
    /// A name whose reply is gone is free. One that another request has just taken looks so, too; but then that one has our place
    /// as well.
    ///
    /// $10 is `tip`, `start`, or `reply` with the reply's name in $11; $12 the request's name or null, $13 the digest of its body,
    /// $14 the lifetime of the name in seconds; $15 and $16 as $10 and $11 above.
    static let openNamedTurn = Statement(
        "open_named_turn", .text, .textArray, .textArray, .textArray, .uuid, .text, .uuid, .text, .text, .text, .uuid,
        .text, .bytes, .int8, .int8, .int8,
        sql: """
            WITH parent AS (
                SELECT NULL::bigint AS seq WHERE $10 = 'tip'
                UNION ALL
                SELECT seq FROM chatts WHERE $10 = 'reply' AND appid = $1 AND id = $11 AND turn = seq
                UNION ALL
                SELECT coalesce((
                    SELECT seq FROM chatts
                    WHERE appid = $1 AND seq < coalesce(
                        (SELECT seq FROM chatts WHERE appid = $1 AND state IS NOT NULL ORDER BY seq LIMIT 1),
                        9223372036854775807)
                    ORDER BY seq DESC LIMIT 1), 0)
                WHERE $10 = 'start'
            ), claimed AS (
                INSERT INTO chatterd_keys AS k (appid, key, digest, reply, expires_at)
                SELECT $1, $12, $13, $5, now() + make_interval(secs => $14) FROM parent WHERE $12 IS NOT NULL
                ON CONFLICT (appid, key) DO UPDATE SET
                    digest = excluded.digest, reply = excluded.reply, expires_at = excluded.expires_at
                    WHERE k.expires_at <= now() OR NOT \(standsForReply)
                RETURNING k.reply
            )
            INSERT INTO chatts (appid, seq, turn, name, message, extras, \(replyColumns), after)
            SELECT $1, l.last + p.place, l.last + cardinality($2), p.name, p.message, nullif(p.extras, ''),
                \(replyValues(bytes: "$15")), CASE p.place WHEN 1 THEN nullif(parent.seq, l.last) END
            FROM parent, unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, place), \(tip) AS l
            WHERE ($12 IS NULL OR EXISTS (SELECT FROM claimed)) AND l.total + $15 <= $16
            RETURNING turn
            """)

    /// The reply that a request's name stands for, and whether it came with the same body.
    static let keyedReply = Statement(
        "keyed_reply", .text, .text, .bytes, returnsBinary: true,
        sql: """
            SELECT reply, digest = $3 FROM chatterd_keys k
            WHERE appid = $1 AND key = $2 AND expires_at > now() AND \(standsForReply)
            """)

    /// The turn of a reply that process $3 owns, if the turn is open.
    static let openedTurn = Statement(
        "opened_turn", .text, .uuid, .uuid, returnsBinary: true,
        sql: """
            SELECT seq, model, options, coalesce(attempt, 1) FROM chatts
            WHERE appid = $1 AND id = $2 AND turn = seq AND state = 'streaming'
                AND \(ReplyStatements.isHolder("holder", "$3"))
            """)

    /// Removes the turn of a reply that process $3 owns. It keeps the turn if later turns exist and the turn does not follow the
    /// row above it, because the removal would change which turn they follow.
    static let withdraw = Statement(
        "withdraw", .text, .uuid, .uuid,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT appid, seq FROM chatts
                WHERE appid = $1 AND id = $2 AND turn = seq AND state = 'streaming'
                    AND \(ReplyStatements.isHolder("holder", "$3")) FOR UPDATE
            )
            DELETE FROM chatts c USING reply r WHERE c.appid = r.appid AND c.seq <= r.seq AND c.turn = r.seq AND (
                NOT EXISTS (SELECT FROM chatts n WHERE n.appid = r.appid AND n.seq > r.seq)
                OR NOT EXISTS (
                    SELECT FROM chatts p
                    WHERE p.appid = r.appid AND p.seq <= r.seq AND p.turn = r.seq AND p.after IS NOT NULL))
            """)

    /// Appends another reply to the prompts of a reply.
    static let openAlternative = Statement(
        "open_alternative", .text, .int8, .uuid, .uuid, .text, .uuid, .text, .int8, returnsBinary: true,
        sql: """
            INSERT INTO chatts (
                appid, seq, turn, name, message, state, id, model, holder, attempt, options, on_interrupt, total, after)
            SELECT $1, l.last + 1, l.last + 1, 'assistant', '', 'streaming', $4, coalesce($5, r.model), $6, 1, r.options,
                $7, l.total, p.seq
            FROM chatts r
            JOIN chatts p ON p.appid = r.appid AND p.seq = coalesce(r.after, r.seq - 1) AND p.state = 'prompt',
                \(tip) AS l
            WHERE r.appid = $1 AND r.seq = $2 AND r.id = $3 AND r.turn = r.seq AND l.total <= $8
            RETURNING turn, model, options
            """)

    /// Makes a complete reply what the next turn follows, unless it is so already.
    static let choose = Statement(
        "choose", .text, .int8, .uuid,
        sql: """
            INSERT INTO chatts (appid, seq, name, message, state, total, after)
            SELECT r.appid, l.last + 1, '', '', 'choice', l.total, r.seq
            FROM chatts r, \(tip) AS l
            WHERE r.appid = $1 AND r.seq = $2 AND r.id = $3 AND r.state = 'complete'
                AND l.last <> r.seq AND (l.state = 'choice' AND l.after = r.seq) IS NOT TRUE
            """)

    /// What became of a reply, and whether process $4 is making it; no row when it is gone.
    static let replyState = Statement(
        "reply_state", .text, .int8, .uuid, .uuid,
        sql: """
            SELECT state, state = 'streaming' AND holder = $4 FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3
            """)

    /// Replaces a conversation; returns whether replies in the making were among it.
    ///
    /// Places are never used again, so that the reply of a turn that ran meanwhile finds none.
    static let replace = Statement(
        "replace", .text, .textArray, .textArray, .textArray,
        sql: """
            WITH gone AS (DELETE FROM chatts WHERE appid = $1 RETURNING seq, state),
            keys AS (DELETE FROM chatterd_keys WHERE appid = $1),
            added AS (
                INSERT INTO chatts (appid, seq, name, message, extras)
                SELECT $1, l.last + p.place, p.name, p.message, nullif(p.extras, '')
                FROM unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, place),
                    (SELECT coalesce(max(seq), 0) AS last FROM gone) AS l
            )
            SELECT coalesce(bool_or(state = 'streaming'), false) FROM gone
            """)

    /// Removes the last rows of a conversation, at most $2: what is left meanwhile is whole. Returns how many there were, and
    /// whether replies in the making were among them.
    static let deleteRows = Statement(
        "delete_rows", .text, .int8,
        sql: """
            WITH gone AS (
                DELETE FROM chatts WHERE appid = $1 AND seq >= (
                    SELECT min(seq) FROM (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT $2) AS l)
                RETURNING state
            )
            SELECT count(*), coalesce(bool_or(state = 'streaming'), false) FROM gone
            """)

    /// The statement compares the reply too, because another request may claim the name meanwhile.
    static let deleteKeys = Statement(
        "delete_keys", .text, .int8,
        sql: """
            DELETE FROM chatterd_keys WHERE appid = $1 AND (key, reply) IN (
                SELECT k.key, k.reply FROM chatterd_keys k
                WHERE k.appid = $1 AND NOT \(standsForReply)
                LIMIT $2)
            """)

    /// Whether the reply of the name `k` is there.
    private static let standsForReply =
        "EXISTS (SELECT FROM chatts c WHERE c.appid = $1 AND c.id = k.reply AND c.turn = c.seq)"

    /// The size of a conversation, its last row included. The length of a TOASTed text costs no read of the text. The size omits
    /// text that earlier open turns produce later. It counts seeded rows only if they are the last ones.
    static let total = Statement(
        "conversation_total", .text, returnsBinary: true, sql: "SELECT l.total FROM \(tip) AS l")

    /// The place of the last row of a conversation, or 0, and the size of the conversation.
    private static let tip = """
        (SELECT coalesce(t.seq, 0) AS last, t.state, t.after,
            coalesce(t.total, 0) + coalesce(octet_length(t.message), 0) + coalesce(octet_length(t.thinking), 0)
                + coalesce(octet_length(t.extras), 0) + \(rowCost) AS total
        FROM (VALUES (1)) AS one
        LEFT JOIN (
            SELECT seq, state, after, total, message, thinking, extras FROM chatts
            WHERE appid = $1 ORDER BY seq DESC LIMIT 1) AS t ON true)
        """

    /// The size that a row counts for besides its text, in bytes.
    static let rowCost = 256

    /// The columns that the row of a reply has and the rows of its prompts lack.
    private static let replyColumns = "state, id, model, holder, attempt, options, on_interrupt, total"
    private static func replyValues(bytes: String) -> String {
        """
        CASE p.place WHEN cardinality($2) THEN 'streaming' ELSE 'prompt' END,
        CASE p.place WHEN cardinality($2) THEN $5 ELSE gen_random_uuid() END,
        CASE p.place WHEN cardinality($2) THEN $6 END, CASE p.place WHEN cardinality($2) THEN $7 END,
        CASE p.place WHEN cardinality($2) THEN 1 END, CASE p.place WHEN cardinality($2) THEN $8 END,
        CASE p.place WHEN cardinality($2) THEN $9 END, CASE p.place WHEN cardinality($2) THEN l.total + \(bytes) END
        """
    }
}
