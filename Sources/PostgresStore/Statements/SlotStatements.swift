import ChatterdPostgres
import ChatterdRelay

/// The SQL of the queues for slots of model servers. What changes a queue comes in a transaction behind `lock`.
///
/// A conversation's tickets have ranks one after the other, the first of them that of the queue: start-time fair queueing
/// (Goyal, Vin, Cheng, 1996) with slots for packets. But the queue's rank rises with time as well: otherwise conversations that
/// come for the first time, one after the other, would keep one that comes back waiting for ever.
enum SlotStatements {
    /// The slots after which the queue's rank rises in any case.
    static let round = 64

    /// Waits for others that change the queue, and keeps them waiting. A statement of its own: the next one sees what they did.
    static let lock = Statement(
        "queue_lock", .text, sql: "SELECT pg_advisory_xact_lock(\(lockClass), hashtext($1))")

    /// Adds the ticket of a reply, $2, to the queue if the reply is still open, or if the ticket belongs to a request outside of
    /// conversations. An existing ticket passes to process $4. It waits again if its holder was another process.
    static let enter = Statement(
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
                WHERE NOT EXISTS (SELECT FROM known) AND ($3 = '\(SlotTicket.noConversation)' OR EXISTS (
                    SELECT FROM chatts c WHERE c.id = $2 AND c.turn = c.seq AND c.state = 'streaming'))
                ON CONFLICT (upstream, appid) DO UPDATE SET rank = greatest(r.rank + 1, excluded.rank)
                RETURNING rank
            )
            INSERT INTO chatterd_queue (upstream, reply, appid, holder, rank)
            SELECT $1, $2, $3, $4, rank FROM ranked
            """)

    /// Takes the ticket of a reply, $2, of process $3 out of the queue. One that was given no slot is as if it had never been:
    /// the conversation's later ones move up.
    static let leave = Statement(
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

    /// Gives the slots that are free, of $2, to those that are next, of processes that live; returns the replies, and whether
    /// they are process $3's.
    static let grant = Statement(
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
            """)

    /// The place of a reply, $2, if it waits, and the length of the queue; whether it has a ticket, and whether it is to be made.
    static let place = Statement(
        "queue_place", .text, .uuid, returnsBinary: true,
        sql: """
            WITH ticket AS MATERIALIZED (SELECT * FROM chatterd_queue WHERE upstream = $1 AND reply = $2)
            SELECT count(*) FILTER (WHERE (q.rank, q.place) <= (t.rank, t.place)), count(*),
                EXISTS (SELECT FROM ticket), EXISTS (SELECT FROM chatts WHERE id = $2 AND turn = seq)
            FROM ticket t JOIN chatterd_queue q ON t.granted IS NULL AND q.upstream = $1 AND q.granted IS NULL
                AND (q.reply = $2 OR \(isAlive("q.holder")))
            """)

    /// The tickets of process $1 that have slots.
    static let granted = Statement(
        "queue_granted", .uuid, returnsBinary: true,
        sql: "SELECT upstream, reply FROM chatterd_queue WHERE holder = $1 AND granted IS NOT NULL")

    /// The tickets of process $1 that wait, with their places and the lengths of their queues.
    static let places = Statement(
        "queue_places", .uuid, returnsBinary: true,
        sql: """
            SELECT upstream, reply, position, length FROM (
                SELECT upstream, reply, holder, row_number() OVER (PARTITION BY upstream ORDER BY rank, place) AS position,
                    count(*) OVER (PARTITION BY upstream) AS length
                FROM chatterd_queue q WHERE granted IS NULL AND (holder = $1 OR \(isAlive("q.holder")))
            ) AS q WHERE holder = $1
            """)

    /// The slots of model servers, $1, that are taken by processes that live.
    static let runningAt = Statement(
        "queue_running", .textArray, returnsBinary: true,
        sql: "SELECT u.upstream, (\(running("u.upstream"))) FROM unnest($1) AS u (upstream)")

    /// How busy a model server is: slots that are taken, replies that wait, and how long slots are held, in microseconds.
    static let load = Statement(
        "queue_load", .text, returnsBinary: true,
        sql: """
            SELECT (\(running("$1"))), (SELECT count(*) FROM chatterd_queue WHERE upstream = $1 AND granted IS NULL),
                (SELECT (hold * 1000000)::bigint FROM chatterd_queues WHERE upstream = $1)
            """)

    /// The queues that there are.
    static let queues = Statement("queues", sql: "SELECT upstream FROM chatterd_queues")

    /// Tickets whose replies are over or gone, at most $1: no one will come for those of dead processes, and those that wait learn
    /// of it when they are removed. A live process keeps its tickets with slots, and all tickets of requests outside of
    /// conversations, which have no replies.
    static let stale = Statement(
        "queue_stale", .int8, returnsBinary: true,
        sql: """
            SELECT q.upstream, q.reply FROM chatterd_queue q \(unmade)
            WHERE c.id IS NULL AND (\(isWaitingReply) OR NOT \(isAlive("q.holder"))) ORDER BY q.upstream LIMIT $1
            """)

    /// Removes tickets, $2, that were stale.
    static let remove = Statement(
        "queue_remove", .text, .uuidArray,
        sql: """
            DELETE FROM chatterd_queue q
            WHERE q.upstream = $1 AND q.reply = ANY ($2) AND (\(isWaitingReply) OR NOT \(isAlive("q.holder")))
            """)

    /// Removes ranks of conversations without tickets that the queue has passed, or that were swept away; at most $2.
    static let forgetRanks = Statement(
        "queue_forget", .text, .int8,
        sql: """
            DELETE FROM chatterd_queue_ranks WHERE upstream = $1 AND appid IN (
                SELECT r.appid FROM chatterd_queue_ranks r JOIN chatterd_queues u ON u.upstream = r.upstream
                WHERE r.upstream = $1 AND r.rank <> u.rank
                    AND r.appid NOT IN (SELECT q.appid FROM chatterd_queue q WHERE q.upstream = $1)
                LIMIT $2)
            """)

    /// Removes the tickets of replies of a conversation that are gone, unless they have slots. Without the lock, and so without
    /// waiting for anybody: what is left out is swept later.
    static let removeGone = Statement(
        "queue_remove_gone", .text,
        sql: """
            DELETE FROM chatterd_queue WHERE (upstream, reply) IN (
                SELECT q.upstream, q.reply FROM chatterd_queue q \(unmade)
                WHERE q.appid = $1 AND q.granted IS NULL AND c.id IS NULL
                FOR UPDATE OF q SKIP LOCKED)
            """)

    /// Removes the ranks of a conversation that is gone.
    static let removeRanks = Statement(
        "queue_remove_ranks", .text,
        sql: """
            DELETE FROM chatterd_queue_ranks
            WHERE appid = $1 AND NOT EXISTS (SELECT FROM chatts WHERE appid = $1)
            """)

    /// The reply of a ticket, `q`, as `c`; null when it is not to be made any more. Each is looked up by itself: all of `chatts`
    /// would be read for a few of them if the planner thought that there were many.
    private static let unmade = """
        LEFT JOIN LATERAL (
            SELECT id FROM chatts WHERE id = q.reply AND turn = seq AND state = 'streaming' LIMIT 1) AS c ON true
        """

    /// Whether a ticket, `q`, belongs to a reply and has no slot.
    private static let isWaitingReply = "(q.granted IS NULL AND q.appid <> '\(SlotTicket.noConversation)')"

    private static func running(_ upstream: String) -> String {
        """
        SELECT count(*) FROM chatterd_queue s
        WHERE s.upstream = \(upstream) AND s.granted IS NOT NULL AND \(isAlive("s.holder"))
        """
    }

    /// Whether a process lives, as `LeaseStatements.isDead` has it; the processes are read once for all tickets.
    private static func isAlive(_ holder: String) -> String {
        """
        (NOT \(LeaseStatements.isSteady)
            OR \(holder) IN (SELECT l.id FROM chatterd_processes l WHERE l.expires_at > now()))
        """
    }

    /// "slot" in ASCII.
    private static let lockClass = "x'736c6f74'::integer"
}
