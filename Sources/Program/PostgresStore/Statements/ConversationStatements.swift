import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of conversations. Every statement touches the rows of one conversation. Order is by `seq`, never by time.
enum ConversationStatements {
    /// Sends a stop signal to the owner of each running reply of a conversation, if the turn of a reply is open there: to all but that
    /// one.
    static func stopRunning(in conversation: ConversationKey, except id: ReplyID) -> Query<Void> {
        Query(stopRunningStatement, .text(conversation.text), .uuid(id))
    }

    private static let stopRunningStatement = Statement(
        "stop_running", after: .rowScope, .text, .uuid,
        sql: """
            INSERT INTO chatterd_signals (holder, reply, kind, appid)
            SELECT c.holder, c.id, 'stop', c.appid FROM chatts c
            WHERE \(ReplyFloor.isRunning("c.")) AND c.id <> $2
                AND EXISTS (SELECT FROM chatts n WHERE n.appid = $1 AND n.id = $2 AND n.turn = n.seq AND n.state = 'streaming')
            FOR KEY SHARE OF c
            ON CONFLICT (holder, reply, kind) DO UPDATE SET at = now()
            """)

    /// The first running reply of a conversation.
    static func running(in conversation: ConversationKey) -> Query<ReplyID> {
        Query(runningStatement, .text(conversation.text))
    }

    private static let runningStatement = Statement(
        "first_running", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT id FROM chatts WHERE \(ReplyFloor.isRunning()) ORDER BY seq LIMIT 1"
    ) { row in
        row.nextReplyID()
    }

    /// The tools that a conversation keeps, as a JSON array; empty if it keeps none.
    static func tools(of conversation: ConversationKey) -> Query<[UInt8]> {
        Query(toolsStatement, .text(conversation.text))
    }

    private static let toolsStatement = Statement(
        "conversation_tools", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT tools FROM chatterd_conversations WHERE appid = $1"
    ) { row in
        row.nextBytes()
    }

    /// Replaces the tools that a conversation keeps, if the transaction has opened the turn of a reply. Tools that are the same leave the row as
    /// it is.
    static func setTools(_ tools: [UInt8], of conversation: ConversationKey, by id: ReplyID) -> Query<Void> {
        Query(setToolsStatement, .text(conversation.text), .utf8(tools), .uuid(id))
    }

    private static let setToolsStatement = Statement(
        "set_tools", after: .rowScope, .text, .text, .uuid,
        sql: """
            UPDATE chatterd_conversations SET tools = nullif($2, '[]')
            WHERE appid = $1 AND tools IS DISTINCT FROM nullif($2, '[]')
                AND EXISTS (SELECT FROM chatts n WHERE n.appid = $1 AND n.id = $3 AND n.turn = n.seq AND n.state = 'streaming')
            """)

    /// The reply of an idempotency key, if the key is in use.
    static func keyedReply(in conversation: ConversationKey, key: IdempotencyKey) -> Query<KeyedReply> {
        Query(keyedReplyStatement, .text(conversation.text), .text(key.text), .bytes(key.digest))
    }

    /// The reply of an idempotency key.
    struct KeyedReply {
        let id: ReplyID
        /// Whether the key came with the same request.
        let isSameRequest: Bool
    }

    private static let keyedReplyStatement = Statement(
        "keyed_reply", after: .rowScope, .text, .text, .bytes, returnsBinary: true,
        sql: """
            SELECT reply, digest = $3 FROM chatterd_keys k WHERE \(isInUse("$2", of: "$1"))
            """
    ) { row in
        KeyedReply(id: row.nextReplyID(), isSameRequest: row.nextBool())
    }

    /// The turn of a reply that a process owns, if the turn is open.
    static func openedTurn(_ id: ReplyID, in conversation: ConversationKey, owner: ReplyID) -> Query<OpenTurn> {
        Query(openedTurnStatement, .text(conversation.text), .uuid(id), .uuid(owner))
    }

    private static let openedTurnStatement = Statement(
        "opened_turn", after: .rowScope, .text, .uuid, .uuid, returnsBinary: true,
        sql: """
            SELECT appid, seq, id, model, options, coalesce(attempt, 1) FROM chatts
            WHERE appid = $1 AND id = $2 AND turn = seq AND state = 'streaming'
                AND \(ReplyStatements.isHolder("holder", "$3"))
            """, decode: ReplyStatements.openTurn)

    /// Removes the turn of a reply that a process owns. It keeps the turn if later turns exist and the turn does not follow the row
    /// above it, because the removal would change which turn they follow.
    static func withdraw(_ id: ReplyID, in conversation: ConversationKey, owner: ReplyID) -> Query<Void> {
        Query(withdrawStatement, .text(conversation.text), .uuid(id), .uuid(owner))
    }

    private static let withdrawStatement = Statement(
        "withdraw", after: .rowScope, .text, .uuid, .uuid,
        sql: """
            WITH reply AS MATERIALIZED (
                SELECT appid, seq, seq - \(RequestStatements.mostPrompts) AS first FROM chatts
                WHERE appid = $1 AND id = $2 AND turn = seq AND state = 'streaming'
                    AND \(ReplyStatements.isHolder("holder", "$3")) FOR UPDATE
            ), gone AS (
                DELETE FROM chatts c USING reply r
                WHERE c.appid = r.appid AND c.seq BETWEEN r.first AND r.seq AND c.turn = r.seq AND (
                    NOT EXISTS (SELECT FROM chatts n WHERE n.appid = r.appid AND n.seq > r.seq)
                    OR NOT EXISTS (
                        SELECT FROM chatts p
                        WHERE p.appid = r.appid AND p.seq BETWEEN r.first AND r.seq AND p.turn = r.seq
                            AND p.after IS NOT NULL))
                RETURNING c.seq
            ), \(ConversationRevision.rebased(from: "gone"))
            SELECT FROM gone
            """)

    /// Whether histories have the turn of a reply: it is complete, or it ended early with a text that is not blank or with steps, whose calls have
    /// results. A call for the client that ended early has none, and model servers refuse it; and a turn without an answer would be two
    /// messages of a person in a row, which many chat templates refuse.
    static func isReplayed(_ row: String) -> String {
        """
        (\(row)state = 'complete' OR \(row)state IN ('failed', 'cancelled', 'interrupted')
            AND CASE WHEN \(row)extras IS NULL THEN \(row)message ~ '[^\\u0001-\\u0020]'
                ELSE \(row)extras LIKE '"steps":[%' AND \(row)extras NOT LIKE '%],"tool_calls":[%' END)
        """
    }

    /// Makes the next turn follow a reply that histories have, unless it does so already.
    static func choose(_ turn: Turn, id: ReplyID) -> Query<Void> {
        Query(
            chooseStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id),
            ConversationRevision.owner(of: turn.conversation))
    }

    private static let chooseStatement = Statement(
        "choose", after: .rowScope, .text, .int8, .uuid, .text,
        sql: """
            WITH chosen AS MATERIALIZED (
                SELECT r.seq, l.last, l.total
                FROM chatts r, \(tip()) AS l
                WHERE r.appid = $1 AND r.seq = $2 AND r.id = $3 AND \(isReplayed("r."))
                    AND l.last <> r.seq AND (l.state = 'choice' AND l.after = r.seq) IS NOT TRUE
            ), \(ConversationRevision.changed(owner: "$4", from: "chosen"))
            INSERT INTO chatts (appid, seq, name, message, state, total, after, opened)
            SELECT $1, c.last + 1, '', '', 'choice', c.total, c.seq, changed.revision
            FROM changed, chosen c
            """)

    /// Whether histories have the turn of a reply; no row if the reply is gone.
    static func isReplayed(_ turn: Turn, id: ReplyID) -> Query<Bool> {
        Query(isReplayedStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id))
    }

    private static let isReplayedStatement = Statement(
        "is_replayed", after: .rowScope, .text, .int8, .uuid,
        sql: "SELECT \(isReplayed("")) FROM chatts WHERE appid = $1 AND seq = $2 AND id = $3"
    ) { row in
        row.nextBool()
    }

    /// Whether the row `k` is that of a key of a conversation, and the key is in use: it is free if its reply is gone.
    static func isInUse(_ key: String, of conversation: String) -> String {
        "k.appid = \(conversation) AND k.key = \(key) AND k.expires_at > now() AND \(standsForReply)"
    }

    /// Whether the reply of the key `k` exists. OFFSET 0 has it looked up by its id: the planner would read all replies of the conversation.
    static let standsForReply =
        "EXISTS (SELECT FROM chatts c WHERE c.appid = k.appid AND c.id = k.reply AND c.turn = c.seq OFFSET 0)"

    /// The size of a conversation in bytes, its last row included. The length of a TOASTed text costs no read of the text. The
    /// size omits text that earlier open turns produce later. It counts seeded rows only if they are the last ones.
    static func total(of conversation: ConversationKey) -> Query<Int> {
        Query(totalStatement, .text(conversation.text))
    }

    private static let totalStatement = Statement(
        "conversation_total", after: .rowScope, .text, returnsBinary: true, sql: "SELECT l.total FROM \(tip()) AS l"
    ) { row in
        row.nextInt()
    }

    /// The `seq` of the last row of a conversation, or 0, and the size of the conversation.
    static func tip(of conversation: String = "$1") -> String {
        """
        (SELECT coalesce(t.seq, 0) AS last, t.state, t.after, t.opened, \(ReplyFloor.known(by: "t")) AS floor,
            coalesce(t.total, 0) + coalesce(octet_length(t.message), 0) + coalesce(octet_length(t.thinking), 0)
                + \(AttachmentStatements.size("t.extras")) + \(rowCost) AS total
        FROM (VALUES (1)) AS one
        LEFT JOIN (
            SELECT seq, state, after, opened, floor, total, message, thinking, extras FROM chatts
            WHERE appid = \(conversation) ORDER BY seq DESC LIMIT 1) AS t ON true)
        """
    }

    /// The size that a row counts for in addition to its text, in bytes.
    static let rowCost = 256
}
