import Postgres

/// The SQL of the conversations. Every statement touches the rows of one appID; order is by seq, never by time.
enum ConversationStatements {
    /// Appends the prompts of a new turn and keeps the place after them for its reply.
    ///
    /// Two at once on one conversation compute the same places: the primary key lets one of them pass.
    static let openTurn = Statement(
        "open_turn", .text, .textArray, .textArray, .textArray, .uuid,
        sql: """
            INSERT INTO chatts (appid, seq, turn, name, message, extras, holder)
            SELECT $1, l.last + p.place, l.last + cardinality($2) + 1, p.name, p.message, nullif(p.extras, ''), $5
            FROM unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, place),
                (SELECT coalesce(
                    (SELECT greatest(seq, turn) FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT 1), 0) AS last) AS l
            RETURNING turn
            """)

    /// The whole conversation, with what is needed to tell complete turns from others.
    ///
    /// In binary, so that a number a row is not written out and read again as digits; each column costs the server, too.
    static let history = Statement(
        "history", .text, returnsBinary: true,
        sql: "SELECT turn, name, message, extras, state FROM chatts WHERE appid = $1 ORDER BY seq")

    /// Closes a turn as interrupted if its process is dead: this one, when the caller says so, or one without a lease.
    static let settleTurn = Statement(
        "settle_turn", .text, .int8, .uuid, .boolean,
        sql: """
            INSERT INTO chatts (appid, seq, turn, name, message, state)
            SELECT p.appid, p.turn, p.turn, 'assistant', '', 'interrupted'
            FROM chatts p
            WHERE p.appid = $1 AND p.seq = $2 - 1 AND p.turn = $2
                AND CASE WHEN p.holder = $3 THEN $4 ELSE NOT EXISTS (
                    SELECT FROM chatterd_processes l WHERE l.id = p.holder AND l.expires_at > now()) END
            ON CONFLICT (appid, seq) DO NOTHING
            """)

    /// Whether a turn is closed, or gone.
    static let isSettled = Statement(
        "is_settled", .text, .int8,
        sql: """
            SELECT EXISTS (SELECT FROM chatts WHERE appid = $1 AND seq = $2)
                OR NOT EXISTS (SELECT FROM chatts WHERE appid = $1 AND seq = $2 - 1 AND turn = $2)
            """)

    /// Stores a reply in the place that its turn has kept, unless the turn is gone or closed.
    ///
    /// The reply that is there already keeps its text, and ends as the client was told last.
    static let closeTurn = Statement(
        "close_turn", .text, .int8, .text, .uuid, .text, .text, .text, .text,
        sql: """
            INSERT INTO chatts (appid, seq, turn, name, message, id, model, extras, thinking, state)
            SELECT $1, $2, $2, 'assistant', $3, $4, $5, nullif($6, ''), nullif($7, ''), $8
            WHERE EXISTS (SELECT FROM chatts WHERE appid = $1 AND seq = $2 - 1 AND turn = $2)
            ON CONFLICT (appid, seq) DO UPDATE SET state = excluded.state WHERE chatts.id = excluded.id
            """)

    /// A row when there is a reply in the place of a turn.
    static let isClosed = Statement(
        "is_closed", .text, .int8,
        sql: "SELECT FROM chatts WHERE appid = $1 AND seq = $2")

    /// Replaces a conversation. Places are never used again, so that the reply of a turn that ran meanwhile finds none.
    static let replace = Statement(
        "replace", .text, .textArray, .textArray, .textArray,
        sql: """
            WITH gone AS (DELETE FROM chatts WHERE appid = $1 RETURNING greatest(seq, turn) AS last)
            INSERT INTO chatts (appid, seq, name, message, extras)
            SELECT $1, l.last + p.place, p.name, p.message, nullif(p.extras, '')
            FROM unnest($2, $3, $4) WITH ORDINALITY AS p (name, message, extras, place),
                (SELECT coalesce(max(last), 0) AS last FROM gone) AS l
            """)

    /// Keeps this process alive in the eyes of the others for some seconds, by the database's clock.
    static let renewLease = Statement(
        "renew_lease", .uuid, .int8,
        sql: """
            INSERT INTO chatterd_processes (id, expires_at) VALUES ($1, now() + make_interval(secs => $2))
            ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
            """)

    /// Ends the leases of all processes: for one that knows that it is the only one.
    static let endAllLeases = Statement("end_all_leases", sql: "DELETE FROM chatterd_processes")

    /// Says that this process runs nothing any more, and clears away what dead ones left.
    static let endLease = Statement(
        "end_lease", .uuid,
        sql: "DELETE FROM chatterd_processes WHERE id = $1 OR expires_at < now() - interval '1 day'")
}
