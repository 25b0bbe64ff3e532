import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that closes replies with the text that the journal has, because their process is gone or has lost text, and adopts those that
/// can be regenerated. Every statement except `adopt` and `settleAbandoned` touches the rows of one conversation.
enum SettlementStatements {
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
    ///
    /// - Parameter hooks: the names of the hooks that get the ends.
    static func settleAbandoned(limit: Int, telling hooks: [String] = []) -> Query<Void> {
        Query(settleAbandonedStatement, .int8(limit), .textArray(hooks))
    }

    private static let settleAbandonedStatement = Statement(
        "settle_abandoned", .int8, .textArray,
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
            ), \(settled(hooks: "$2"))
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
            ), \(JournalText.cleared)
            SELECT appid, seq, id, model, options, attempt FROM stored
            """, decode: ReplyStatements.openTurn)

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
            SELECT count(*) = 0, bool_or(\(ReplyStatements.isHolder("holder", "$3"))), bool_or(\(LeaseStatements.isDead("holder"))) FROM chatts
            WHERE appid = $1 AND seq = $2 AND state = 'streaming'
            """
    ) { row in
        Settlement(isSettled: row.nextBool(), isOwner: row.nextBool(), isOwnerDead: row.nextBool())
    }

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
            WITH \(ReplyStatements.ended(by: "$4", attempt: "$5")), dead AS MATERIALIZED (
                SELECT appid, seq, id, coalesce(attempt, 1) AS attempt, (SELECT revision FROM changed) AS revision
                FROM chatts
                WHERE appid = $1 AND seq = $2 AND id = $3 AND \(ReplyStatements.isOwned("", by: "$4", attempt: "$5"))
                FOR NO KEY UPDATE
            ), \(settled(isCut: "true"))
            """)

    /// Whether another process may adopt a reply whose owner is gone. A reply that was handed over qualifies. A reply whose client
    /// wants it regenerated qualifies until it was adopted from dead owners twice, however many attempts each of them had. A
    /// stopped reply does not qualify.
    private static let isRegenerated = """
        ((\(LeaseStatements.isHandedOver("c")) OR c.on_interrupt = 'regenerate' AND coalesce(c.adoptions, 0) < 2)
            AND NOT \(ReplyStatements.isStopped("c")))
        """

    /// Closes the replies in `dead` with the text in their rows and sheets of the journal, at their revisions.
    ///
    /// - Parameters:
    ///   - isCut: whether their last event reports the loss of the rest of the text.
    ///   - hooks: the names of the hooks that get the ends; `nil` if another statement adds their deliveries.
    private static func settled(isCut: String = "f.is_cut", hooks: String? = nil) -> String {
        """
        \(JournalText.folded("dead", JournalText.allPieces(of: "dead"))), stored AS (
            UPDATE chatts c SET
                state = 'interrupted', message = f.text, thinking = nullif(f.thinking, ''), extras = \(JournalText.extras("f.calls", of: "c")),
                last_event = CASE WHEN \(isCut) THEN \(lossEvent) END, closed = d.revision, finished = now(), holder = NULL
            FROM dead d JOIN folded f ON f.reply = d.id
            WHERE c.appid = d.appid AND c.seq = d.seq
            RETURNING c.appid, c.seq, c.id, c.state
        ), \(JournalText.cleared)\(hooks.map { ", told AS (\(DeliveryStatements.insert(hooks: $0)))" } ?? "")
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
