import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL that finds a branch of a conversation, and copies one into another conversation of the same owner.
enum BranchStatements {
    /// The parts of the branch of a reply that reach into a page; of the next prompt without a reply.
    static func ranges(
        of conversation: ConversationKey, upTo reply: ReplyID? = nil, from first: Int64, to last: Int64
    ) -> Query<ClosedRange<Int64>> {
        guard let reply else { return Query(branchStatement, .text(conversation.text), .int8(first), .int8(last)) }
        return Query(replyBranchStatement, .text(conversation.text), .int8(first), .int8(last), .uuid(reply))
    }

    private static let branchStatement = Statement(
        "conversation_branch", after: .rowScope, .text, .int8, .int8, returnsBinary: true,
        sql: branch(from: "SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT 1"), decode: range)

    private static let replyBranchStatement = Statement(
        "reply_branch", after: .rowScope, .text, .int8, .int8, .uuid, returnsBinary: true,
        sql: branch(from: "SELECT seq FROM chatts WHERE appid = $1 AND id = $4 AND turn = seq"), decode: range)

    private static func branch(from tip: String) -> String {
        """
        WITH RECURSIVE \(walk(from: tip, downTo: "$2"))
        SELECT low, high FROM walk WHERE high >= $2 AND low <= $3
        """
    }

    private static let range: @Sendable (inout Row) -> ClosedRange<Int64> = { row in
        let low = Int64(row.nextInt())
        return low...max(low, Int64(row.nextInt()))
    }

    /// The ranges of rows on a branch of `$1`, from its tip to `limit`. Each range ends where a row follows another one than the row
    /// above it. A link never leads forward, so the walk ends.
    private static func walk(from tip: String, downTo limit: String) -> String {
        let link = """
            LEFT JOIN LATERAL (
                SELECT seq, after FROM chatts WHERE appid = $1 AND seq <= t.seq AND after IS NOT NULL ORDER BY seq DESC LIMIT 1
            ) AS l ON true
            """
        return """
            walk (high, low, next) AS (
                SELECT t.seq, coalesce(l.seq, 0), l.after FROM (\(tip)) AS t \(link)
                UNION ALL
                SELECT t.seq, coalesce(l.seq, 0), l.after
                FROM (SELECT next AS seq FROM walk WHERE next > 0 AND next < low AND low > \(limit)) AS t \(link)
            )
            """
    }

    /// Copies the turns of a branch that a history has into a conversation that does not exist, if they have at most `limit` bytes. The copy has
    /// one branch, and other numbers; so it has no provenance, which names numbers.
    ///
    /// - Parameter reply: the last reply; `nil` for the branch of the next prompt.
    static func fork(
        _ source: ConversationKey, at reply: ReplyID?, to target: ConversationKey, title: String?, limit: Int
    ) -> Query<Fork> {
        Query(
            forkStatement, .text(source.text), .text(target.text), reply.map { .uuid($0) } ?? .null,
            .text(target.owner.keyPrefix), title.map { .text($0) } ?? .null, .int8(limit),
            .int8(Int(Partition(of: target.owner).number)))
    }

    /// The outcome of a copy.
    struct Fork {
        let isDone: Bool
        /// Whether the source exists.
        let hasSource: Bool
        /// Whether histories have the given reply; `nil` if it does not exist.
        let isReplayed: Bool?
        /// Whether the target existed before.
        let hasTarget: Bool
    }

    // OFFSET 0 keeps the planner from reading all rows for each range of the walk.
    private static let forkStatement = Statement(
        "fork_conversation", after: .rowScope, .text, .text, .uuid, .text, .text, .int8, .int8, returnsBinary: true,
        sql: """
            WITH RECURSIVE reply AS (
                SELECT seq, \(ConversationStatements.isReplayed("")) AS is_replayed FROM chatts
                WHERE appid = $1 AND id = $3 AND turn = seq
            ), tip AS (
                SELECT seq FROM reply WHERE is_replayed
                UNION ALL
                (SELECT seq FROM chatts WHERE appid = $1 AND $3 IS NULL ORDER BY seq DESC LIMIT 1)
            ), \(walk(from: "SELECT seq FROM tip", downTo: "0")), grouped AS (
                SELECT c.seq, c.state, \(ConversationStatements.isReplayed("c.")) AS is_replayed,
                    octet_length(c.message) + coalesce(octet_length(c.thinking), 0)
                        + \(AttachmentStatements.size("c.extras")) + \(ConversationStatements.rowCost) AS size,
                    count(*) FILTER (WHERE c.state <> 'prompt') OVER (ORDER BY c.seq DESC) AS number
                FROM walk w CROSS JOIN LATERAL (
                    SELECT seq, state, message, thinking, extras FROM chatts
                    WHERE appid = $1 AND seq BETWEEN w.low AND w.high OFFSET 0) AS c
                WHERE \(ConversationRowStatements.isMessage("c."))
            ), kept AS (
                SELECT seq, state, is_replayed, number, row_number() OVER (ORDER BY seq) AS place,
                    (coalesce(sum(size) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))::bigint AS total,
                    sum(size) OVER () AS size
                FROM (
                    SELECT *, bool_or(is_replayed) OVER turn AND bool_or(state = 'prompt') OVER turn AS is_whole
                    FROM grouped WINDOW turn AS (PARTITION BY number)) AS turns
                WHERE state IS NULL OR is_whole
            ), source AS (
                SELECT (SELECT title FROM chatterd_conversations WHERE appid = $1) AS title,
                    (SELECT metadata FROM chatterd_conversations WHERE appid = $1) AS metadata,
                    (SELECT tools FROM chatterd_conversations WHERE appid = $1) AS tools
                WHERE EXISTS (SELECT FROM chatts WHERE appid = $1)
                    OR EXISTS (SELECT FROM chatterd_conversations WHERE appid = $1)
            ), claimed AS (
                INSERT INTO chatterd_conversations (appid, owner, title, metadata, tools)
                SELECT $2, $4, coalesce($5, s.title), s.metadata, s.tools FROM source s
                WHERE ($3 IS NULL OR EXISTS (SELECT FROM tip)) AND NOT EXISTS (SELECT FROM chatts WHERE appid = $2)
                    AND coalesce((SELECT max(size) FROM kept), 0) <= $6
                ON CONFLICT (appid) DO NOTHING
                RETURNING appid
            ), added AS (
                INSERT INTO chatts (
                    appid, seq, turn, name, message, extras, thinking, state, id, model, attempt, options, last_event, time,
                    finished, total, floor)
                SELECT t.appid, k.place,
                    CASE WHEN k.state IS NOT NULL THEN max(k.place) OVER (PARTITION BY k.number) END,
                    c.name, c.message, c.extras, c.thinking, c.state,
                    CASE WHEN k.is_replayed THEN \(ReplyID.newSQL(in: "$7")) ELSE gen_random_uuid() END,
                    c.model, c.attempt, c.options, c.last_event, c.time, c.finished,
                    CASE WHEN k.is_replayed OR k.state IS NULL THEN k.total END, k.place - 1
                FROM claimed t, kept k JOIN chatts c ON c.appid = $1 AND c.seq = k.seq
            )
            SELECT EXISTS (SELECT FROM claimed), EXISTS (SELECT FROM source), (SELECT is_replayed FROM reply),
                EXISTS (SELECT FROM chatts WHERE appid = $2)
                    OR EXISTS (SELECT FROM chatterd_conversations WHERE appid = $2)
            """
    ) { row in
        Fork(
            isDone: row.nextBool(), hasSource: row.nextBool(), isReplayed: row.nextOptionalBool(),
            hasTarget: row.nextBool())
    }
}
