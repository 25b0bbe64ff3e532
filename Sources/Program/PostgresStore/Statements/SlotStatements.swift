import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of the queues for slots of model servers. A transaction that changes a queue begins with `lock`.
///
/// The column `appid` of the queue has the owner of a ticket, the beginning of the keys of the owner's conversations.
///
/// The tickets of an owner have consecutive ranks, of which the first is the rank of the queue: start-time fair queueing
/// (Goyal, Vin, Cheng, 1996) with slots for packets. The rank of the queue also rises with time. Otherwise a sequence of new
/// owners would keep a returning one waiting for ever.
enum SlotStatements {
    /// The number of granted slots after which the rank of the queue rises in any case.
    static let round = 64

    /// Serializes changes of a queue. It is a separate statement, so that the next one sees the changes before it.
    static func lock(_ upstream: String) -> Query<Void> { Query(lockStatement, .text(upstream)) }

    private static let lockStatement = Statement(
        "queue_lock", .text, sql: "SELECT pg_advisory_xact_lock(\(lockClass), hashtext($1))")

    /// Adds a ticket to the queue if its reply is still open, or if it belongs to a request outside of conversations. An existing
    /// ticket passes to this process. It waits again if another process held it.
    static func enter(_ ticket: SlotTicket, process: ReplyID) -> Query<Void> {
        Query(enterStatement, .text(ticket.upstream), .uuid(ticket.reply), .text(ticket.owner), .uuid(process))
    }

    private static let enterStatement = Statement(
        "queue_enter", .text, .uuid, .text, .uuid,
        sql: """
            WITH known AS (
                UPDATE chatterd_queue SET holder = $4, granted = CASE WHEN holder = $4 THEN granted END
                WHERE upstream = $1 AND reply = $2
                RETURNING 1
            ), queue AS (
                INSERT INTO chatterd_queues (upstream, rank) VALUES ($1, 0) ON CONFLICT (upstream) DO NOTHING
            ), ranked AS (
                INSERT INTO chatterd_queue_ranks AS r (upstream, appid, rank)
                SELECT $1, $3, coalesce((SELECT rank FROM chatterd_queues WHERE upstream = $1), 0)
                WHERE NOT EXISTS (SELECT FROM known) AND (\(isPassed("$3")) OR EXISTS (
                    SELECT FROM chatts c WHERE c.id = $2 AND c.turn = c.seq AND c.state = 'streaming'))
                ON CONFLICT (upstream, appid) DO UPDATE SET rank = greatest(r.rank + 1, excluded.rank)
                RETURNING rank
            )
            INSERT INTO chatterd_queue (upstream, reply, appid, holder, rank)
            SELECT $1, $2, $3, $4, rank FROM ranked
            """)

    /// Removes a ticket of this process from the queue. If the ticket had no slot, the later tickets of its owner move up,
    /// as if it had never existed.
    static func leave(_ ticket: SlotTicket, process: ReplyID) -> Query<Void> {
        Query(leaveStatement, .text(ticket.upstream), .uuid(ticket.reply), .uuid(process))
    }

    private static let leaveStatement = Statement(
        "queue_leave", .text, .uuid, .uuid,
        sql: """
            WITH gone AS (
                DELETE FROM chatterd_queue WHERE upstream = $1 AND reply = $2 AND holder = $3
                RETURNING appid, rank, granted
            ), moved AS (
                UPDATE chatterd_queue SET rank = rank - 1
                WHERE upstream = $1 AND granted IS NULL AND appid = (SELECT appid FROM gone WHERE granted IS NULL)
                    AND rank > (SELECT rank FROM gone WHERE granted IS NULL)
            ), counted AS (
                UPDATE chatterd_queue_ranks r SET rank = r.rank - 1 FROM gone g
                WHERE g.granted IS NULL AND r.upstream = $1 AND r.appid = g.appid AND r.rank >= g.rank
            )
            UPDATE chatterd_queues u SET hold = coalesce(u.hold + (g.held - u.hold) / 8, g.held)
            FROM (SELECT extract(epoch FROM clock_timestamp() - granted)::double precision AS held FROM gone) AS g
            WHERE u.upstream = $1 AND g.held IS NOT NULL
            """)

    /// Grants the free slots to the next tickets of live processes.
    static func grant(at upstream: String, slots: Int, process: ReplyID) -> Query<Granted> {
        Query(grantStatement, .text(upstream), .int8(slots), .uuid(process))
    }

    /// A ticket that was granted a slot.
    struct Granted {
        let reply: ReplyID
        /// Whether the ticket belongs to the process.
        let isOwn: Bool
    }

    private static let grantStatement = Statement(
        "queue_grant", .text, .int8, .uuid, returnsBinary: true,
        sql: """
            WITH next AS MATERIALIZED (
                SELECT reply, rank FROM chatterd_queue q
                WHERE upstream = $1 AND granted IS NULL AND \(isAlive("q.holder"))
                ORDER BY rank, place LIMIT greatest(0, $2 - (\(running("$1"))))
            ), passed AS (
                UPDATE chatterd_queues u SET
                    rank = CASE WHEN n.rank > u.rank THEN n.rank ELSE u.rank + (u.given + n.given) / \(round) END,
                    given = CASE WHEN n.rank > u.rank THEN 0 ELSE (u.given + n.given) % \(round) END
                FROM (SELECT max(rank) AS rank, count(*)::integer AS given FROM next) AS n
                WHERE u.upstream = $1 AND n.given > 0
            )
            UPDATE chatterd_queue q SET granted = clock_timestamp() FROM next n
            WHERE q.upstream = $1 AND q.reply = n.reply
            RETURNING q.reply, q.holder = $3
            """
    ) { row in
        Granted(reply: row.nextReplyID(), isOwn: row.nextBool())
    }

    /// The queue position of a ticket.
    static func position(of ticket: SlotTicket) -> Query<Position> {
        Query(positionStatement, .text(ticket.upstream), .uuid(ticket.reply))
    }

    /// The state of a ticket.
    struct Position {
        /// The queue position, if the ticket waits.
        let position: Int
        /// The length of the queue; 0 if the ticket has a slot.
        let length: Int
        let hasTicket: Bool
        /// Whether the reply exists.
        let hasReply: Bool
    }

    private static let positionStatement = Statement(
        "queue_place", .text, .uuid, returnsBinary: true,
        sql: """
            WITH ticket AS MATERIALIZED (SELECT * FROM chatterd_queue WHERE upstream = $1 AND reply = $2)
            SELECT count(*) FILTER (WHERE (q.rank, q.place) <= (t.rank, t.place)), count(*),
                EXISTS (SELECT FROM ticket), EXISTS (SELECT FROM chatts WHERE id = $2 AND turn = seq)
            FROM ticket t JOIN chatterd_queue q ON t.granted IS NULL AND q.upstream = $1 AND q.granted IS NULL
                AND (q.reply = $2 OR \(isAlive("q.holder")))
            """
    ) { row in
        Position(
            position: row.nextInt(), length: row.nextInt(), hasTicket: row.nextBool(), hasReply: row.nextBool())
    }

    /// The tickets of a process that have slots.
    static func granted(to process: ReplyID) -> Query<SlotKey> { Query(grantedStatement, .uuid(process)) }

    private static let grantedStatement = Statement(
        "queue_granted", .uuid, returnsBinary: true,
        sql: "SELECT upstream, reply FROM chatterd_queue WHERE holder = $1 AND granted IS NOT NULL"
    ) { row in
        SlotKey(upstream: row.nextText(), reply: row.nextReplyID())
    }

    /// The waiting tickets of a process.
    static func waiting(of process: ReplyID) -> Query<Waiting> { Query(waitingStatement, .uuid(process)) }

    /// A waiting ticket, its queue position, and the length of its queue.
    struct Waiting {
        let key: SlotKey
        let position: Int
        let length: Int
    }

    private static let waitingStatement = Statement(
        "queue_places", .uuid, returnsBinary: true,
        sql: """
            SELECT upstream, reply, position, length FROM (
                SELECT upstream, reply, holder, row_number() OVER (PARTITION BY upstream ORDER BY rank, place) AS position,
                    count(*) OVER (PARTITION BY upstream) AS length
                FROM chatterd_queue q WHERE granted IS NULL AND (holder = $1 OR \(isAlive("q.holder")))
            ) AS q WHERE holder = $1
            """
    ) { row in
        Waiting(
            key: SlotKey(upstream: row.nextText(), reply: row.nextReplyID()), position: row.nextInt(),
            length: row.nextInt())
    }

    /// The number of slots of model servers that live processes use.
    static func running(at upstreams: [String]) -> Query<Running> { Query(runningStatement, .textArray(upstreams)) }

    /// The number of slots in use at a model server.
    struct Running {
        let upstream: String
        let count: Int
    }

    private static let runningStatement = Statement(
        "queue_running", .textArray, returnsBinary: true,
        sql: "SELECT u.upstream, (\(running("u.upstream"))) FROM unnest($1) AS u (upstream)"
    ) { row in
        Running(upstream: row.nextText(), count: row.nextInt())
    }

    /// The slots in use, the waiting replies, and how long slots are held, in microseconds.
    static func load(of upstream: String) -> Query<SlotLoad> { Query(loadStatement, .text(upstream)) }

    private static let loadStatement = Statement(
        "queue_load", .text, returnsBinary: true,
        sql: """
            SELECT (\(running("$1"))), (SELECT count(*) FROM chatterd_queue WHERE upstream = $1 AND granted IS NULL),
                (SELECT (hold * 1000000)::bigint FROM chatterd_queues WHERE upstream = $1)
            """
    ) { row in
        SlotLoad(
            running: row.nextInt(), waiting: row.nextInt(), hold: row.nextOptionalInt().map { .microseconds($0) })
    }

    /// The names of the model servers that have queues.
    static let queues = Query(
        Statement("queues", sql: "SELECT upstream FROM chatterd_queues") { row in row.nextText() })

    /// Tickets whose replies are closed or gone, at most `limit`: those of dead processes, and those that wait; their owners
    /// learn of it when they are removed. A live process keeps its tickets with slots, and all tickets of requests outside of
    /// conversations, which have no replies.
    static func stale(limit: Int) -> Query<SlotKey> { Query(staleStatement, .int8(limit)) }

    private static let staleStatement = Statement(
        "queue_stale", .int8, returnsBinary: true,
        sql: """
            SELECT q.upstream, q.reply FROM chatterd_queue q \(unmade)
            WHERE c.id IS NULL AND (\(isWaitingReply) OR NOT \(isAlive("q.holder"))) ORDER BY q.upstream LIMIT $1
            """
    ) { row in
        SlotKey(upstream: row.nextText(), reply: row.nextReplyID())
    }

    /// Removes stale tickets.
    static func remove(_ replies: [ReplyID], at upstream: String) -> Query<Void> {
        Query(removeStatement, .text(upstream), .uuidArray(replies))
    }

    private static let removeStatement = Statement(
        "queue_remove", .text, .uuidArray,
        sql: """
            DELETE FROM chatterd_queue q
            WHERE q.upstream = $1 AND q.reply = ANY ($2) AND (\(isWaitingReply) OR NOT \(isAlive("q.holder")))
            """)

    /// Removes ranks of owners without tickets that the queue has passed or that were swept; at most `limit`.
    static func forgetRanks(at upstream: String, limit: Int) -> Query<Void> {
        Query(forgetRanksStatement, .text(upstream), .int8(limit))
    }

    private static let forgetRanksStatement = Statement(
        "queue_forget", .text, .int8,
        sql: """
            DELETE FROM chatterd_queue_ranks WHERE upstream = $1 AND appid IN (
                SELECT r.appid FROM chatterd_queue_ranks r JOIN chatterd_queues u ON u.upstream = r.upstream
                WHERE r.upstream = $1 AND r.rank <> u.rank
                    AND r.appid NOT IN (SELECT q.appid FROM chatterd_queue q WHERE q.upstream = $1)
                LIMIT $2)
            """)

    /// Removes the tickets of replies of an owner that are gone, unless they have slots. The statement acquires no lock, so
    /// it waits for no other process; a later sweep removes the tickets that it skips.
    static func removeGone(of conversation: ConversationKey) -> Query<Void> {
        Query(removeGoneStatement, ConversationRevision.owner(of: conversation))
    }

    private static let removeGoneStatement = Statement(
        "queue_remove_gone", after: .rowScope, .text,
        sql: """
            DELETE FROM chatterd_queue WHERE (upstream, reply) IN (
                SELECT q.upstream, q.reply FROM chatterd_queue q \(unmade)
                WHERE q.appid = $1 AND q.granted IS NULL AND c.id IS NULL
                FOR UPDATE OF q SKIP LOCKED)
            """)

    /// Removes the ranks of an owner without conversations.
    static func removeRanks(of conversation: ConversationKey) -> Query<Void> {
        Query(removeRanksStatement, ConversationRevision.owner(of: conversation))
    }

    private static let removeRanksStatement = Statement(
        "queue_remove_ranks", after: .rowScope, .text,
        sql: """
            DELETE FROM chatterd_queue_ranks
            WHERE appid = $1 AND NOT EXISTS (
                SELECT FROM chatterd_conversations WHERE owner IN ($1, $1 || E'\\x1D'))
            """)

    /// The running reply of a ticket, `q`, as `c`; null if it is closed or gone. The statement looks up each reply separately,
    /// because the planner would read all of `chatts` if it expected many.
    private static let unmade = """
        LEFT JOIN LATERAL (
            SELECT id FROM chatts WHERE id = q.reply AND turn = seq AND state = 'streaming' LIMIT 1) AS c ON true
        """

    /// Whether a ticket, `q`, belongs to a reply and has no slot.
    private static let isWaitingReply = "(q.granted IS NULL AND NOT \(isPassed("q.appid")))"

    /// Whether an owner is that of requests outside of conversations. Earlier versions leave it empty.
    private static func isPassed(_ owner: String) -> String {
        "(\(owner) = '' OR starts_with(\(owner), E'\\x1F'))"
    }

    private static func running(_ upstream: String) -> String {
        """
        SELECT count(*) FROM chatterd_queue s
        WHERE s.upstream = \(upstream) AND s.granted IS NOT NULL AND \(isAlive("s.holder"))
        """
    }

    /// Whether a process is alive, the opposite of `LeaseStatements.isDead`. The statement reads the processes once for all
    /// tickets.
    private static func isAlive(_ holder: String) -> String {
        """
        (NOT \(LeaseStatements.isSteady)
            OR \(holder) IN (SELECT l.id FROM chatterd_processes l WHERE l.expires_at > now()))
        """
    }

    /// "slot" in ASCII.
    private static let lockClass = "x'736c6f74'::integer"
}
