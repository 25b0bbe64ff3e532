import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that closes, restarts, finds and reads replies. Every statement except `find` touches the rows of one conversation.
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
                state = $5, message = $6, thinking = nullif($7, ''), extras = \(JournalText.extras("$8", of: "chatts")),
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
            ), \(JournalText.folded("reply", JournalText.rows(of: "reply", until: "$13"))), stored AS (
                UPDATE chatts c SET
                    state = $5, message = f.text || $6, thinking = nullif(f.thinking || $7, ''),
                    extras = \(JournalText.extras("f.calls || $8", of: "c")),
                    last_event = nullif($9, ''), account = nullif($10, ''), finished = now(), history = $12,
                    closed = r.revision
                FROM reply r JOIN folded f ON f.reply = r.id
                WHERE c.appid = r.appid AND c.seq = r.seq AND octet_length(f.text) = $14
                    AND octet_length(f.thinking) = $15 AND octet_length(f.calls) = $16
                RETURNING c.appid, c.id
            ), \(JournalText.cleared)
            SELECT FROM stored
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
            ), \(JournalText.cleared)
            SELECT attempt FROM stored
            """)

    /// Stores the steps of a running reply, in place of those before.
    static func storeSteps(_ steps: [UInt8], of turn: Turn, id: ReplyID, owner: ReplyID, attempt: Int) -> Query<Void> {
        Query(
            storeStepsStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id), .uuid(owner),
            .int8(attempt), .utf8(steps))
    }

    private static let storeStepsStatement = Statement(
        "store_steps", after: .rowScope, .text, .int8, .uuid, .uuid, .int8, .text,
        sql: """
            UPDATE chatts SET extras = $6
            WHERE appid = $1 AND seq = $2 AND id = $3 AND \(isOwned("", by: "$4", attempt: "$5"))
            """)

    /// The steps of a running reply.
    static func steps(of turn: Turn, id: ReplyID) -> Query<StoredSteps> {
        Query(stepsStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    private static let stepsStatement = Statement(
        "steps", after: .rowScope, .text, .int8, .uuid, returnsBinary: true,
        sql: "SELECT extras, approvals FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3 AND state = 'streaming'"
    ) { row in
        StoredSteps(members: row.nextBytes(), approvals: CallApprovals(parsing: row.nextText()))
    }

    /// Answers a call of a running reply, unless it has an answer. Of two statements at once the second one examines the row that the first one
    /// has written.
    static func answer(
        _ answer: CallApprovals.Answer, to place: StepPlace, of turn: Turn, id: ReplyID
    ) -> Query<Void> {
        Query(
            answerStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id),
            .text(CallApprovals.key(of: place)), .text(answer.rawValue))
    }

    private static let answerStatement = Statement(
        "answer_call", after: .rowScope, .text, .int8, .uuid, .text, .text,
        sql: """
            UPDATE chatts SET approvals = coalesce(approvals || ',', '') || $4 || $5
            WHERE appid = $1 AND seq = $2 AND id = $3 AND state = 'streaming'
                AND strpos(',' || coalesce(approvals, ''), ',' || $4) = 0
            """)

    /// The answers to the calls of a reply.
    static func approvals(of turn: Turn, id: ReplyID) -> Query<CallApprovals> {
        Query(approvalsStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    private static let approvalsStatement = Statement(
        "approvals", after: .rowScope, .text, .int8, .uuid, returnsBinary: true,
        sql: "SELECT approvals FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3"
    ) { row in
        CallApprovals(parsing: row.nextText())
    }

    /// A reply by its id.
    static func find(_ id: ReplyID) -> Query<ReplyRecord> { Query(findStatement, .uuid(id)) }

    private static let findStatement = Statement(
        "find_reply", after: .rowScope, .uuid, returnsBinary: true,
        sql: """
            SELECT c.id, c.appid, c.seq, c.model, c.state, coalesce(c.attempt, 1),
                c.state = 'streaming' AND \(LeaseStatements.isDead("c.holder")),
                \(StoredTime.microseconds("c.time")),
                \(StoredTime.microseconds("CASE WHEN c.state <> 'streaming' THEN coalesce(c.finished, c.time) END")),
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
    ///
    /// - Parameter steps: the version of the row with the steps that the caller has. The further members of a running reply come with another
    ///   version; `nil` leaves them out.
    static func read(
        _ reply: ReplyRecord, from position: ReplyPosition, steps: String?, limit: Int
    ) -> Query<StoredReply> {
        Query(
            readStatement, .text(reply.turn.conversation.text), .int8(reply.turn.number), .uuid(reply.id),
            .int8(min(position.text, largestOffset)), .int8(min(position.thinking, largestOffset)), .int8(limit),
            steps.map { .text($0) } ?? .null)
    }

    /// An offset behind any text that the database can hold.
    private static let largestOffset = 1 << 30

    private static let readStatement = Statement(
        "read_reply", after: .rowScope, .text, .int8, .uuid, .int8, .int8, .int8, .text, returnsBinary: true,
        sql: """
            SELECT state, coalesce(attempt, 1), last_event, octet_length(message), octet_length(coalesce(thinking, '')),
                CASE WHEN state <> 'streaming' THEN substring(convert_to(message, 'UTF8'), $4::integer + 1, $6::integer) END,
                CASE WHEN state <> 'streaming' THEN substring(convert_to(thinking, 'UTF8'), $5::integer + 1, $6::integer) END,
                CASE WHEN state <> 'streaming' OR xmin::text <> $7 THEN extras END, xmin::text
            FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3 AND turn = seq
            """
    ) { row in
        StoredReply(
            state: ReplyState(rawValue: row.nextText()), attempt: row.nextInt(), lastEvent: row.nextBytes(),
            textSize: row.nextInt(), thinkingSize: row.nextInt(), text: row.nextBytes(), thinking: row.nextBytes(),
            extras: row.nextBytes(), version: row.nextText())
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

    /// Whether a client has asked the owner of a reply to stop it.
    static func isStopped(_ reply: String) -> String {
        "EXISTS (SELECT FROM chatterd_signals s WHERE s.reply = \(reply).id AND s.kind = 'stop')"
    }

    /// Counts the end of the reply $3 in its conversation, if process `holder` owns the reply at this attempt.
    static func ended(by holder: String, attempt: String) -> String {
        ConversationRevision.ended(if: "c.id = $3 AND \(isOwned("c.", by: holder, attempt: attempt))")
    }
}
