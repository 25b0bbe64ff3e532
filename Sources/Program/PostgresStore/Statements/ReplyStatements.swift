import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that closes, adopts, finds and reads replies. Every statement except `find`, `adopt` and `settleAbandoned` touches the
/// rows of one conversation.
enum ReplyStatements {
    // Four conditions fence the end of a reply: its name, its owner, its attempt, and the state `streaming`. The first committed
    // close wins. A repeated or late close changes no row.

    /// Stores the end of a reply, behind the part of it that is journalled.
    ///
    /// The statement changes no row if the journal holds less: the complete output is stored, or none of it.
    ///
    /// - Parameter history: the digest of the history of a client with the reply; `nil` if no client is found by its history.
    static func close(
        _ turn: Turn, with reply: ClosingReply, history: HistoryDigest?, owner: ReplyID
    ) -> Query<Void> {
        var provenance = ByteBuffer()
        provenance.append(reply.provenance)
        let journalled = reply.journalled
        let parameters: [Parameter] = [
            .text(turn.conversation.text), .int8(turn.number), .uuid(reply.id), .uuid(owner),
            .text(reply.ending.state.rawValue),
            .utf8(reply.text), .utf8(reply.thinking), .utf8(reply.toolCalls), .utf8(reply.ending.lastEvent),
            .utf8(provenance.array), .int8(journalled.attempt),
            history.map { .uuid(high: $0.high, low: $0.low) } ?? .null,
        ]
        guard journalled.total > 0 else { return Query(closeStatement, parameters: parameters) }
        return Query(
            closeJournalledStatement,
            parameters: parameters + [
                .int8(journalled.total), .int8(journalled.text), .int8(journalled.thinking),
                .int8(journalled.toolCalls),
            ])
    }

    private static let closeStatement = Statement(
        "close_turn", after: .rowScope, .text, .int8, .uuid, .uuid, .text, .text, .text, .text, .text, .text, .int8,
        .uuid,
        sql: """
            WITH \(ended(by: "$4", attempt: "$11"))
            UPDATE chatts SET
                state = $5, message = $6, thinking = nullif($7, ''), extras = \(extras("$8")),
                last_event = nullif($9, ''), account = nullif($10, ''), finished = now(), history = $12,
                closed = (SELECT revision FROM changed)
            WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$11"))
            """)

    /// $13 is the number of journalled bytes: $14 of text, $15 of thoughts, $16 of tool calls.
    private static let closeJournalledStatement = Statement(
        "close_journalled_turn", after: .rowScope, .text, .int8, .uuid, .uuid, .text, .text, .text, .text, .text, .text,
        .int8, .uuid, .int8, .int8, .int8, .int8,
        sql: """
            WITH \(ended(by: "$4", attempt: "$11")), reply AS MATERIALIZED (
                SELECT appid, seq, id, coalesce(attempt, 1) AS attempt, (SELECT revision FROM changed) AS revision
                FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$11"))
                FOR NO KEY UPDATE
            ), \(folded("reply", rows(of: "reply", until: "$13"))), stored AS (
                UPDATE chatts c SET
                    state = $5, message = f.text || $6, thinking = nullif(f.thinking || $7, ''),
                    extras = \(extras("f.calls || $8")),
                    last_event = nullif($9, ''), account = nullif($10, ''), finished = now(), history = $12,
                    closed = r.revision
                FROM reply r JOIN folded f ON f.reply = r.id
                WHERE c.appid = r.appid AND c.seq = r.seq AND octet_length(f.text) = $14
                    AND octet_length(f.thinking) = $15 AND octet_length(f.calls) = $16
                RETURNING c.appid, c.id
            ), \(cleared)
            SELECT FROM stored
            """)

    /// Closes a reply of this process as interrupted after the database has lost a part of its journal: with the text up to the
    /// gap, and a last event that reports the loss.
    static func closeCut(_ turn: Turn, id: ReplyID, owner: ReplyID, attempt: Int) -> Query<Void> {
        Query(
            closeCutStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id), .uuid(owner),
            .int8(attempt))
    }

    private static let closeCutStatement = Statement(
        "close_cut_turn", after: .rowScope, .text, .int8, .uuid, .uuid, .int8,
        sql: """
            WITH \(ended(by: "$4", attempt: "$5")), dead AS MATERIALIZED (
                SELECT appid, seq, id, coalesce(attempt, 1) AS attempt, (SELECT revision FROM changed) AS revision
                FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$5"))
                FOR NO KEY UPDATE
            ), \(settled(isCut: "true"))
            """)

    /// The state of a reply, and whether a process is or was its last owner.
    static func ownership(of turn: Turn, id: ReplyID, by process: ReplyID) -> Query<Ownership> {
        Query(ownershipStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id), .uuid(process))
    }

    /// The state and the owner of a reply.
    struct Ownership {
        /// `nil` while the reply is running.
        let state: ReplyState?
        let attempt: Int
        /// Whether the process is or was the last owner.
        let isOwner: Bool
        let lastEvent: [UInt8]
    }

    private static let ownershipStatement = Statement(
        "reply_ownership", after: .rowScope, .text, .int8, .uuid, .uuid, returnsBinary: true,
        sql: """
            SELECT state, coalesce(attempt, 1), \(isHolder("holder", "$4")), last_event FROM chatts
            WHERE appid = $1 AND seq = $2 AND id = $3
            """
    ) { row in
        Ownership(
            state: ReplyState(rawValue: row.nextText()), attempt: row.nextInt(), isOwner: row.nextBool(),
            lastEvent: row.nextBytes())
    }

    /// Closes a turn as interrupted if its owner is dead: a process without a lease, or this process if the caller says so.
    ///
    /// The statement leaves a reply that can be regenerated to the process that adopts it, unless the caller does not want it.
    /// That process may be this one, which has just adopted the reply and does not know yet; then the number of adoptions does
    /// not count.
    static func settleTurn(
        _ turn: Turn, process: ReplyID, isAbandonedHere: Bool, closesRegenerated: Bool
    ) -> Query<Void> {
        Query(
            settleTurnStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(process),
            .boolean(isAbandonedHere),
            .boolean(closesRegenerated))
    }

    private static let settleTurnStatement = Statement(
        "settle_turn", after: .rowScope, .text, .int8, .uuid, .boolean, .boolean,
        sql: """
            WITH \(ConversationRevision.ended(if: isSettledHere)), dead AS MATERIALIZED (
                SELECT c.appid, c.seq, c.id, coalesce(c.attempt, 1) AS attempt, (SELECT revision FROM changed) AS revision
                FROM chatts c
                WHERE c.appid = $1 AND c.seq = $2 AND \(isSettledHere)
                FOR NO KEY UPDATE
            ), \(settled())
            """)

    /// Whether `settleTurn` closes the reply `c`.
    private static let isSettledHere = """
        c.state = 'streaming' AND CASE WHEN c.holder = $3 THEN $4 AND ($5 OR c.on_interrupt IS NULL)
            ELSE ($5 OR \(isRegenerated) IS NOT TRUE) AND \(LeaseStatements.isDead("c.holder")) END
        """

    /// Closes released and handed-over turns as interrupted, at most `limit`. It leaves those that another process can regenerate, and
    /// those in conversations that another transaction changes now.
    ///
    /// The replies of one conversation get successive revisions.
    static func settleAbandoned(limit: Int) -> Query<Void> { Query(settleAbandonedStatement, .int8(limit)) }

    private static let settleAbandonedStatement = Statement(
        "settle_abandoned", .int8,
        sql: """
            WITH found AS MATERIALIZED (
                SELECT c.appid, c.seq FROM chatts c WHERE \(isAbandonedForGood) LIMIT $1
            ), locked AS MATERIALIZED (
                SELECT v.appid FROM chatterd_conversations v WHERE v.appid IN (SELECT f.appid FROM found f)
                ORDER BY v.appid FOR NO KEY UPDATE SKIP LOCKED
            ), held AS MATERIALIZED (
                SELECT c.appid, c.seq, c.id, coalesce(c.attempt, 1) AS attempt
                FROM found f JOIN chatts c ON c.appid = f.appid AND c.seq = f.seq
                WHERE \(isAbandonedForGood) AND (
                    f.appid IN (SELECT l.appid FROM locked l)
                    OR NOT EXISTS (SELECT FROM chatterd_conversations v WHERE v.appid = f.appid))
                FOR NO KEY UPDATE OF c SKIP LOCKED
            ), counted AS MATERIALIZED (
                SELECT h.*, row_number() OVER (PARTITION BY appid ORDER BY seq) AS place,
                    count(*) OVER (PARTITION BY appid) AS places
                FROM held h
            ), changed AS (
                UPDATE chatterd_conversations v SET revision = v.revision + n.places, \(ConversationRevision.changedNow)
                FROM (SELECT DISTINCT appid, places FROM counted) AS n WHERE v.appid = n.appid
                RETURNING v.appid, v.revision
            ), dead AS MATERIALIZED (
                SELECT n.appid, n.seq, n.id, n.attempt, v.revision - n.places + n.place AS revision
                FROM counted n LEFT JOIN changed v ON v.appid = n.appid
            ), \(settled())
            """)

    /// Whether `c` is a released or handed-over reply that no process regenerates.
    private static let isAbandonedForGood = "\(LeaseStatements.isAbandoned("c")) AND \(isRegenerated) IS NOT TRUE"

    /// Adopts released and handed-over turns that can be regenerated, at most `limit`, and skips the `known` replies. The replies
    /// read their histories when they start, as memory allows.
    static func adopt(by process: ReplyID, limit: Int, except known: [ReplyID]) -> Query<OpenTurn> {
        Query(adoptStatement, .uuid(process), .int8(limit), .uuidArray(known))
    }

    private static let adoptStatement = Statement(
        "adopt", .uuid, .int8, .uuidArray, returnsBinary: true,
        sql: """
            WITH dead AS MATERIALIZED (
                SELECT c.appid, c.seq FROM chatts c WHERE \(LeaseStatements.isAbandoned("c")) AND \(isRegenerated)
                    AND c.id NOT IN (SELECT k.id FROM unnest($3) AS k (id))
                LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
            ), stored AS (
                UPDATE chatts c SET
                    holder = $1, attempt = coalesce(c.attempt, 1) + 1,
                    adoptions = coalesce(c.adoptions, 0) + CASE WHEN \(LeaseStatements.isHandedOver("c")) THEN 0 ELSE 1 END
                FROM dead d WHERE c.appid = d.appid AND c.seq = d.seq
                RETURNING c.appid, c.seq, c.id, c.model, c.options, c.attempt
            ), \(cleared)
            SELECT appid, seq, id, model, options, attempt FROM stored
            """, decode: openTurn)

    /// An open turn. The reply reads its history when it starts.
    static let openTurn: @Sendable (inout Row) -> OpenTurn = { row in
        OpenTurn(
            turn: Turn(conversation: ConversationKey(parsing: row.nextText()), number: Int64(row.nextInt())),
            id: row.nextReplyID(), model: row.nextText(), options: row.nextBytes(), attempt: row.nextInt(),
            history: TurnHistory(unreadBehind: []))
    }

    /// Ends an attempt of a reply, and starts the next one.
    ///
    /// A repeated or late restart finds another attempt and changes no row. It would otherwise delete the journal of the new
    /// attempt.
    static func restart(_ turn: Turn, id: ReplyID, owner: ReplyID, attempt: Int) -> Query<Void> {
        Query(
            restartStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id), .uuid(owner), .int8(attempt)
        )
    }

    private static let restartStatement = Statement(
        "restart_turn", after: .rowScope, .text, .int8, .uuid, .uuid, .int8, returnsBinary: true,
        sql: """
            WITH stored AS (
                UPDATE chatts c SET attempt = $5 + 1
                WHERE c.appid = $1 AND c.seq = $2 AND c.id = $3 AND \(isOwned("c.", by: "$4", attempt: "$5"))
                RETURNING c.appid, c.id, c.attempt
            ), \(cleared)
            SELECT attempt FROM stored
            """)

    /// Whether a turn is closed or gone, and the kind of its owner otherwise.
    static func isSettled(_ turn: Turn, process: ReplyID) -> Query<Settlement> {
        Query(isSettledStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(process))
    }

    /// Whether a turn is settled.
    struct Settlement {
        /// Whether the turn is closed or gone.
        let isSettled: Bool
        /// Whether the process owns the open turn.
        let isOwner: Bool
        /// Whether a dead process owns the open turn.
        let isOwnerDead: Bool
    }

    private static let isSettledStatement = Statement(
        "is_settled", after: .rowScope, .text, .int8, .uuid,
        sql: """
            SELECT count(*) = 0, bool_or(\(isHolder("holder", "$3"))), bool_or(\(LeaseStatements.isDead("holder"))) FROM chatts
            WHERE appid = $1 AND seq = $2 AND state = 'streaming'
            """
    ) { row in
        Settlement(isSettled: row.nextBool(), isOwner: row.nextBool(), isOwnerDead: row.nextBool())
    }

    /// A reply by its id.
    static func find(_ id: ReplyID) -> Query<ReplyRecord> { Query(findStatement, .uuid(id)) }

    private static let findStatement = Statement(
        "find_reply", after: .rowScope, .uuid, returnsBinary: true,
        sql: """
            SELECT c.id, c.appid, c.seq, c.model, c.state, coalesce(c.attempt, 1),
                c.state = 'streaming' AND \(LeaseStatements.isDead("c.holder")),
                (extract(epoch FROM c.time) * 1000000)::bigint,
                (extract(epoch FROM CASE WHEN c.state <> 'streaming' THEN coalesce(c.finished, c.time) END) * 1000000)::bigint,
                c.account
            FROM chatts c WHERE c.id = $1 AND c.turn = c.seq
            """
    ) { row in
        var record = ReplyRecord(
            id: row.nextReplyID(),
            turn: Turn(conversation: ConversationKey(parsing: row.nextText()), number: Int64(row.nextInt())),
            model: row.nextText(),
            state: ReplyState(rawValue: row.nextText()), attempt: row.nextInt(), isAbandoned: row.nextBool(),
            createdAt: Int64(row.nextInt()), finishedAt: row.nextOptionalInt().map { Int64($0) })
        record.provenance = row.nextBytes()
        return record
    }

    /// The row of a reply. For a closed reply also its text and its thoughts from the position, `limit` bytes of each.
    static func read(_ reply: ReplyRecord, from position: ReplyPosition, limit: Int) -> Query<StoredReply> {
        Query(
            readStatement, .text(reply.turn.conversation.text), .int8(reply.turn.number), .uuid(reply.id),
            .int8(min(position.text, largestOffset)), .int8(min(position.thinking, largestOffset)), .int8(limit))
    }

    /// An offset behind any text that the database can hold.
    private static let largestOffset = 1 << 30

    private static let readStatement = Statement(
        "read_reply", after: .rowScope, .text, .int8, .uuid, .int8, .int8, .int8, returnsBinary: true,
        sql: """
            SELECT state, coalesce(attempt, 1), last_event, octet_length(message), octet_length(coalesce(thinking, '')),
                CASE WHEN state <> 'streaming' THEN substring(convert_to(message, 'UTF8'), $4::integer + 1, $6::integer) END,
                CASE WHEN state <> 'streaming' THEN substring(convert_to(thinking, 'UTF8'), $5::integer + 1, $6::integer) END,
                CASE WHEN state <> 'streaming' THEN extras END
            FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3 AND turn = seq
            """
    ) { row in
        StoredReply(
            state: ReplyState(rawValue: row.nextText()), attempt: row.nextInt(), lastEvent: row.nextBytes(),
            textSize: row.nextInt(), thinkingSize: row.nextInt(), text: row.nextBytes(), thinking: row.nextBytes(),
            extras: row.nextBytes())
    }

    /// Whether a process holds a row that the key has found.
    ///
    /// The comparison is not `=`, because on a table without statistics the planner would prefer the index on holders to the key,
    /// and examine all rows of the process for each reply.
    static func isHolder(_ holder: String, _ process: String) -> String {
        "\(holder) IS NOT DISTINCT FROM \(process)"
    }

    /// Whether process `holder` owns a running reply at this attempt.
    static func isOwned(_ table: String, by holder: String, attempt: String) -> String {
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

    /// Counts the end of the reply $3 in its conversation, if process `holder` owns the reply at this attempt.
    private static func ended(by holder: String, attempt: String) -> String {
        ConversationRevision.ended(if: "c.id = $3 AND \(isOwned("c.", by: holder, attempt: attempt))")
    }

    private static func extras(_ calls: String) -> String {
        "CASE WHEN \(calls) <> '' THEN '\"tool_calls\":[' || \(calls) || ']' END"
    }

    /// The rows that the journal has of the replies in `source` alone, as far as they begin before a limit.
    private static func rows(of source: String, until limit: String) -> String {
        """
        SELECT j.reply, j.start, j.text_at, j.thinking_at, j.calls_at, j.text, j.thinking, j.calls
        FROM \(source) r
        JOIN chatterd_journal j
            ON j.appid = r.appid AND j.reply = r.id AND j.attempt = r.attempt AND j.start < \(limit)
        """
    }

    /// The rows of the replies in `source`, and their pieces in sheets.
    private static func allPieces(of source: String) -> String {
        """
        \(rows(of: source, until: "9223372036854775807"))
        UNION ALL
        SELECT s.reply, s.start, s.text_at, s.thinking_at, s.calls_at, s.text, s.thinking, s.calls
        FROM chatterd_sheet_pieces(ARRAY(SELECT id FROM \(source))) s
        JOIN \(source) r ON r.id = s.reply AND r.attempt = s.attempt
        """
    }

    /// The journal of the replies in `source`, in order, up to the first gap. Bytes that two pieces share count once. `is_cut` says
    /// whether pieces exist behind a gap.
    ///
    /// A gap precedes a piece if it starts beyond the end of all pieces before it, or if any of its parts starts beyond the end of that
    /// part in the pieces before it. All later pieces are behind the gap too. So a loss of thoughts also drops the text that follows them.
    private static func folded(_ source: String, _ pieces: String) -> String {
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
                SELECT p.*, bool_or(start > had OR text_at > text_had OR thinking_at > thinking_had OR calls_at > calls_had)
                    OVER (PARTITION BY p.reply ORDER BY p.start) AS is_lost
                FROM (
                    SELECT j.*, \(had("text")), \(had("thinking")), \(had("calls")),
                        coalesce(max(j.start + octet_length(j.text) + octet_length(j.thinking) + octet_length(j.calls))
                            OVER before, 0) AS had
                    FROM (\(pieces)) AS j
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

    /// Removes the journal of the replies in `stored`.
    private static let cleared = """
        cleared AS (
            DELETE FROM chatterd_journal j USING stored s WHERE j.appid = s.appid AND j.reply = s.id
        )
        """

    /// Closes the replies in `dead` with the text in their rows and sheets of the journal, at their revisions.
    ///
    /// - Parameter isCut: whether their last event reports the loss of the rest of the text.
    private static func settled(isCut: String = "f.is_cut") -> String {
        """
        \(folded("dead", allPieces(of: "dead"))), stored AS (
            UPDATE chatts c SET
                state = 'interrupted', message = f.text, thinking = nullif(f.thinking, ''), extras = \(extras("f.calls")),
                last_event = CASE WHEN \(isCut) THEN \(lossEvent) END, closed = d.revision, finished = now(), holder = NULL
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
