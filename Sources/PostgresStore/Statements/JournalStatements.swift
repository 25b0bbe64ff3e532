import ChatterdPostgres

/// The SQL of the journal, and of what processes tell each other of the replies in it.
enum JournalStatements {
    /// Waits for `sweepLock` of others, and keeps them waiting: until the end of the transaction nothing is swept.
    static let writeLock = Statement(
        "journal_lock", sql: "SELECT pg_advisory_xact_lock_shared(\(lockKey))")

    /// Waits for those that write journals: from then on they know what was deleted before.
    static let sweepLock = Statement(
        "sweep_lock", sql: "SELECT pg_advisory_xact_lock(\(lockKey))")

    /// Journals pieces of replies, the elements of the arrays; returns the names of those that this process does not make.
    ///
    /// Each reply is looked up by itself: how many there are is not known when the statement is planned.
    ///
    /// The fence by attempt rejects a late batch of an earlier attempt. No reader needs its rows, and they would stay until the
    /// reply ends.
    static let write = Statement(
        "journal", .uuid, .textArray, .int8Array, .uuidArray, .int8Array, .int8Array, .int8Array, .int8Array,
        .textArray, .textArray, .textArray, returnsBinary: true,
        sql: """
            WITH entry AS MATERIALIZED (
                SELECT e.*, text_at + thinking_at + calls_at AS start, c.id IS NOT NULL AS is_live
                FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                    AS e (appid, seq, reply, attempt, text_at, thinking_at, calls_at, text, thinking, calls)
                LEFT JOIN LATERAL (
                    SELECT id FROM chatts
                    WHERE appid = e.appid AND seq = e.seq AND id = e.reply AND state = 'streaming'
                        AND \(ReplyStatements.isHolder("holder", "$1"))
                        AND coalesce(attempt, 1) = e.attempt
                    LIMIT 1) AS c ON true
            ), written AS (
                INSERT INTO chatterd_journal AS j (
                    appid, reply, attempt, start, text_at, thinking_at, calls_at, text, thinking, calls)
                SELECT appid, reply, attempt, start, text_at, thinking_at, calls_at, text, thinking, calls
                FROM entry WHERE is_live AND (text <> '' OR thinking <> '' OR calls <> '')
                ON CONFLICT (appid, reply, attempt, start) DO UPDATE SET
                    text_at = excluded.text_at, thinking_at = excluded.thinking_at, calls_at = excluded.calls_at,
                    text = excluded.text, thinking = excluded.thinking, calls = excluded.calls
                    WHERE octet_length(excluded.text) + octet_length(excluded.thinking) + octet_length(excluded.calls)
                        >= octet_length(j.text) + octet_length(j.thinking) + octet_length(j.calls)
            )
            SELECT DISTINCT reply FROM entry WHERE NOT is_live
            """)

    /// What the journal holds of a reply beyond a position: in order, up to $8 bytes and then to the end of the row.
    ///
    /// The last row that begins at or before the position is the first that counts, if nothing of it is beyond: in a place
    /// that nobody was ever told of, all rows are looked at.
    static let read = Statement(
        "read_journal", .text, .uuid, .int8, .int8, .int8, .int8, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT text_at, text, thinking_at, thinking, calls_at, calls
            FROM (
                SELECT j.*, octet_length(text) + octet_length(thinking) + octet_length(calls) AS size,
                    sum(octet_length(text) + octet_length(thinking) + octet_length(calls)) OVER (ORDER BY start) AS running
                FROM chatterd_journal j
                WHERE appid = $1 AND reply = $2 AND attempt = $3
                    AND start >= coalesce((
                        SELECT CASE WHEN text_at <= $5 AND thinking_at <= $6 AND calls_at <= $7 THEN start ELSE 0 END
                        FROM chatterd_journal WHERE appid = $1 AND reply = $2 AND attempt = $3 AND start <= $4
                        ORDER BY start DESC LIMIT 1), 0)
                    AND (text_at + octet_length(text) > $5 OR thinking_at + octet_length(thinking) > $6
                        OR calls_at + octet_length(calls) > $7)
            ) AS j
            WHERE running - size < $8 ORDER BY start
            """)

    /// Removes what the journal holds of a conversation's replies that are gone, at most $2 rows.
    static let sweep = Statement(
        "sweep_journal", .text, .int8,
        sql: """
            DELETE FROM chatterd_journal WHERE appid = $1 AND (reply, attempt, start) IN (
                SELECT j.reply, j.attempt, j.start FROM chatterd_journal j
                WHERE j.appid = $1 AND NOT EXISTS (
                    SELECT FROM chatts c WHERE c.appid = $1 AND c.id = j.reply AND c.turn = c.seq AND c.state = 'streaming')
                LIMIT $2)
            """)

    /// Tells the process that makes a reply something.
    ///
    /// The row is locked against its removal: whoever deletes the conversation finds what was told, or nothing is told.
    static let signal = Statement(
        "signal", .text, .int8, .uuid, .text,
        sql: """
            INSERT INTO chatterd_signals (holder, reply, kind, appid)
            SELECT holder, id, $4, appid FROM chatts
            WHERE appid = $1 AND seq = $2 AND id = $3 AND state = 'streaming'
            FOR KEY SHARE
            ON CONFLICT (holder, reply, kind) DO UPDATE SET at = now()
            """)

    /// What this process has been told. That somebody reads is told once; that a reply is to stop, until it has.
    static let signals = Statement(
        "signals", .uuid, returnsBinary: true,
        sql: """
            WITH told AS (
                DELETE FROM chatterd_signals WHERE holder = $1 AND kind <> 'stop' RETURNING reply, kind
            )
            SELECT reply, kind FROM told
            UNION ALL
            SELECT reply, kind FROM chatterd_signals WHERE holder = $1 AND kind = 'stop'
            """)

    /// Removes what was told of replies of a conversation that are over, or gone.
    static let deleteSignals = Statement(
        "delete_signals", .text,
        sql: """
            DELETE FROM chatterd_signals s WHERE s.appid = $1 AND NOT EXISTS (
                SELECT FROM chatts c WHERE c.appid = $1 AND c.id = s.reply AND c.turn = c.seq AND c.state = 'streaming')
            """)

    /// "journal" in ASCII.
    private static let lockKey = "x'6a6f75726e616c'::bigint"
}
