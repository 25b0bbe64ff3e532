import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of the rows that the journal has of single replies, and of the signals between processes about its replies.
enum JournalStatements {
    /// Waits until no other process holds `sweepLock`, and prevents sweeps until the end of the transaction.
    static let writeLock = Query(
        Statement(
            "journal_lock", sql: "SELECT pg_advisory_xact_lock_shared(\(lockKey))"))

    /// Waits for all transactions that write journals. Later ones see the rows that were deleted before.
    static let sweepLock = Query(
        Statement(
            "sweep_lock", sql: "SELECT pg_advisory_xact_lock(\(lockKey))"))

    /// Journals pieces of replies. Returns the replies that this process does not own or that are closed.
    ///
    /// The statement looks up each reply separately, because the planner does not know how many there are. The fence by attempt
    /// rejects a late batch of an earlier attempt. No reader needs its rows, and they would stay until the reply ends.
    static func write(_ columns: [JournalColumns], owner: ReplyID) -> Query<ReplyID> {
        Query(
            writeStatement, .uuid(owner), .array(of: .text, columns.map(\.owned.conversations)),
            .array(of: .int8, columns.map(\.owned.numbers)), .array(of: .uuid, columns.map(\.owned.replies)),
            .array(of: .int8, columns.map(\.owned.attempts)), .array(of: .int8, columns.map(\.textStarts)),
            .array(of: .int8, columns.map(\.thinkingStarts)), .array(of: .int8, columns.map(\.callStarts)),
            .array(of: .text, columns.map(\.texts)), .array(of: .text, columns.map(\.thoughts)),
            .array(of: .text, columns.map(\.calls)))
    }

    private static let writeStatement = Statement(
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
            """
    ) { row in
        row.nextReplyID()
    }

    /// The journal of a reply from a position: in order, up to `limit` bytes and then to the end of the row.
    ///
    /// The last row that begins at or before the position comes first, if a part of it is behind the position. For a position
    /// that no reader ever got, the statement examines all rows.
    static func read(
        _ id: ReplyID, in conversation: ConversationKey, from position: ReplyPosition, limit: Int
    ) -> Query<Piece> {
        Query(
            readStatement, .text(conversation.text), .uuid(id), .int8(position.attempt), .int8(position.total),
            .int8(position.text),
            .int8(position.thinking), .int8(position.toolCalls), .int8(limit))
    }

    /// A row of the journal.
    struct Piece {
        /// The bytes of one part of a reply, and the offset at which they start.
        struct Part {
            let start: Int
            let bytes: Field
        }

        let text: Part
        let thinking: Part
        let toolCalls: Part
    }

    private static let readStatement = Statement(
        "read_journal", after: .rowScope, .text, .uuid, .int8, .int8, .int8, .int8, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT text_at, text, thinking_at, thinking, calls_at, calls
            FROM (
                SELECT j.*, octet_length(text) + octet_length(thinking) + octet_length(calls) AS size,
                    sum(octet_length(text) + octet_length(thinking) + octet_length(calls)) OVER (ORDER BY start) AS running
                FROM chatterd_journal j
                WHERE appid = $1 AND reply = $2 AND attempt = $3
                    AND start >= greatest((
                        SELECT CASE WHEN text_at <= $5 AND thinking_at <= $6 AND calls_at <= $7 THEN start ELSE 0 END
                        FROM chatterd_journal WHERE appid = $1 AND reply = $2 AND attempt = $3 AND start <= $4
                        ORDER BY start DESC LIMIT 1), 0)
                    AND (text_at + octet_length(text) > $5 OR thinking_at + octet_length(thinking) > $6
                        OR calls_at + octet_length(calls) > $7)
            ) AS j
            WHERE running - size < $8 ORDER BY start
            """
    ) { row in
        Piece(
            text: Piece.Part(start: row.nextInt(), bytes: row.nextField()),
            thinking: Piece.Part(start: row.nextInt(), bytes: row.nextField()),
            toolCalls: Piece.Part(start: row.nextInt(), bytes: row.nextField()))
    }

    /// Removes at most `limit` journal rows of replies of a conversation that are closed or gone.
    static func sweep(_ conversation: ConversationKey, limit: Int) -> Query<Void> {
        Query(sweepStatement, .text(conversation.text), .int8(limit))
    }

    private static let sweepStatement = Statement(
        "sweep_journal", after: .rowScope, .text, .int8,
        sql: """
            DELETE FROM chatterd_journal WHERE appid = $1 AND (reply, attempt, start) IN (
                SELECT j.reply, j.attempt, j.start FROM chatterd_journal j
                WHERE j.appid = $1 AND NOT EXISTS (
                    SELECT FROM chatts c WHERE c.appid = $1 AND c.id = j.reply AND c.turn = c.seq AND c.state = 'streaming')
                LIMIT $2)
            """)

    /// Sends a signal to the process that owns a reply.
    ///
    /// The lock prevents the removal of the reply's row meanwhile: the deletion of the conversation finds the signal, or there is
    /// none.
    static func signal(_ kind: ReplySignal.Kind, to turn: Turn, id: ReplyID) -> Query<Void> {
        Query(signalStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id), .text(kind.rawValue))
    }

    private static let signalStatement = Statement(
        "signal", after: .rowScope, .text, .int8, .uuid, .text,
        sql: """
            INSERT INTO chatterd_signals (holder, reply, kind, appid)
            SELECT holder, id, $4, appid FROM chatts
            WHERE appid = $1 AND seq = $2 AND id = $3 AND state = 'streaming'
            FOR KEY SHARE
            ON CONFLICT (holder, reply, kind) DO UPDATE SET at = now()
            """)

    /// The signals to a process; `nil` for a kind that this program does not know. The statement returns a stop until the reply has
    /// ended, and every other signal once.
    static func signals(to process: ReplyID) -> Query<ReplySignal?> { Query(signalsStatement, .uuid(process)) }

    private static let signalsStatement = Statement(
        "signals", .uuid, returnsBinary: true,
        sql: """
            WITH delivered AS (
                DELETE FROM chatterd_signals WHERE holder = $1 AND kind <> 'stop' RETURNING reply, kind
            )
            SELECT reply, kind FROM delivered
            UNION ALL
            SELECT reply, kind FROM chatterd_signals WHERE holder = $1 AND kind = 'stop'
            """
    ) { row in
        let id = row.nextReplyID()
        return ReplySignal.Kind(rawValue: row.nextText()).map { ReplySignal(id: id, kind: $0) }
    }

    /// Removes the signals to replies of a conversation that are closed or gone.
    static func deleteSignals(of conversation: ConversationKey) -> Query<Void> {
        Query(deleteSignalsStatement, .text(conversation.text))
    }

    private static let deleteSignalsStatement = Statement(
        "delete_signals", after: .rowScope, .text,
        sql: """
            DELETE FROM chatterd_signals s WHERE s.appid = $1 AND NOT EXISTS (
                SELECT FROM chatts c WHERE c.appid = $1 AND c.id = s.reply AND c.turn = c.seq AND c.state = 'streaming')
            """)

    /// "journal" in ASCII.
    private static let lockKey = "x'6a6f75726e616c'::bigint"
}
