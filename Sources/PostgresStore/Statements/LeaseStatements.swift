import ChatterdPostgres

/// The SQL of the processes: which of them are alive, and what the dead left open.
///
/// A process renews its lease all the time, so a lease that has expired belongs to a process that is dead, or to one that could
/// not reach the database. No process can reach it during a failover or a freeze. `isSteady` tells the two apart: some process has
/// renewed its own lease without a gap for a whole lifetime, so the database was there for all of them.
enum LeaseStatements {
    /// The longest time between two renewals that leaves no gap, in seconds: two renewals, as one may be late.
    private static let longestGap = ProcessLease.lifetime / 2
    /// The rows of a process that are looked through in one statement.
    private static let pieceLimit = 5_000

    /// The maximum number of handovers of a reply: ten restarts in a row while it waits or runs.
    private static let handovers = 10

    /// Keeps this process alive in the eyes of the others for some seconds, by the database's clock.
    static let renew = Statement(
        "renew_lease", .uuid,
        sql: """
            INSERT INTO chatterd_processes AS l (id, expires_at, since)
            VALUES ($1, now() + interval '\(ProcessLease.lifetime) s', now())
            ON CONFLICT (id) DO UPDATE SET
                expires_at = excluded.expires_at, since = CASE WHEN \(isUnbroken) THEN l.since ELSE now() END
            """)

    /// Ends the lease of this process, which leaves replies open.
    static let expire = Statement(
        "expire_lease", .uuid, sql: "UPDATE chatterd_processes SET expires_at = now() WHERE id = $1")

    /// Removes the lease of this process, which leaves nothing open.
    static let end = Statement("end_lease", .uuid, sql: "DELETE FROM chatterd_processes WHERE id = $1")

    /// Removes what was told to this process.
    static let endSignals = Statement(
        "end_signals", .uuid, sql: "DELETE FROM chatterd_signals WHERE holder = $1")

    /// Ends the leases of all processes: for one that knows that it is the only one.
    static let endAll = Statement("end_all_leases", sql: "DELETE FROM chatterd_processes")

    /// Takes all replies from other processes: for one that knows that it is the only one. Reads all of `chatts`.
    static let releaseOthers = Statement(
        "release_others", .uuid,
        sql: """
            UPDATE chatts SET holder = \(withoutOwner)
            WHERE turn = seq AND state = 'streaming' AND holder IS DISTINCT FROM $1 AND holder IS DISTINCT FROM \(handedOver)
            """)

    /// Gives up a reply of this process.
    static let release = Statement(
        "release", .text, .int8, .uuid,
        sql: """
            UPDATE chatts SET holder = \(withoutOwner)
            WHERE appid = $1 AND seq = $2 AND state = 'streaming' AND \(ReplyStatements.isHolder("holder", "$3"))
            """)

    /// Hands a reply of this process, at attempt $5, over to the other processes, if it has no text yet ($6) or its client wants it
    /// regenerated. It refuses a reply that a client has stopped, and a reply that was handed over too often.
    static let handOver = Statement(
        "hand_over", .text, .int8, .uuid, .uuid, .int8, .boolean,
        sql: """
            UPDATE chatts c SET holder = \(handedOver), handovers = coalesce(handovers, 0) + 1
            WHERE appid = $1 AND seq = $2 AND id = $3 AND state = 'streaming' AND coalesce(attempt, 1) = $5
                AND \(ReplyStatements.isHolder("holder", "$4")) AND ($6 OR on_interrupt = 'regenerate')
                AND coalesce(handovers, 0) < \(handovers) AND NOT \(ReplyStatements.isStopped("c"))
            """)

    /// Gives up a reply of a dead process.
    static let releaseDead = Statement(
        "release_dead", .text, .int8,
        sql: """
            UPDATE chatts SET holder = \(withoutOwner)
            WHERE appid = $1 AND seq = $2 AND state = 'streaming' AND holder NOT IN (\(withoutOwner), \(handedOver))
                AND \(isDead("holder"))
            """)

    /// The replies that process $1 holds among the newest it made before $2; the last row has the time to go on from, if there
    /// may be more.
    static let held = Statement(
        "held_turns", .uuid, .text, returnsBinary: true,
        sql: """
            WITH \(piece)
            SELECT appid, seq, id, NULL FROM piece WHERE state = 'streaming'
            UNION ALL
            SELECT NULL, NULL, NULL, \(rest)
            """)

    /// Gives up what a dead process, $1, left open, among the newest replies that it made before $2; returns whether it is dead,
    /// and the time to go on from, or null at the end.
    ///
    /// However long the process made replies for, all of them are looked through, a piece at a time: how old one may be that is
    /// still open is not bounded, as it may have waited, or have been adopted after days.
    static let releaseHeld = Statement(
        "release_held", .uuid, .text,
        sql: """
            WITH \(piece), released AS (
                UPDATE chatts c SET holder = \(withoutOwner) FROM piece p
                WHERE p.state = 'streaming' AND c.appid = p.appid AND c.seq = p.seq AND c.state = 'streaming'
                    AND \(ReplyStatements.isHolder("c.holder", "$1")) AND \(isDead("$1"))
            )
            SELECT \(isDead("$1")), \(rest)
            """)

    /// The other processes that are dead, and may have left replies open, with the ends of their leases.
    static let dead = Statement(
        "dead_processes", .uuid, returnsBinary: true,
        sql: """
            SELECT d.id, d.expires_at::text FROM chatterd_processes d
            WHERE d.id <> $1 AND d.expires_at <= now() AND \(isSteady)
            """)

    /// Whether any streaming reply is released or handed over.
    static let isAnyAbandoned = Statement(
        "is_any_abandoned", sql: "SELECT EXISTS (SELECT FROM chatts c WHERE \(isAbandoned("c")))")

    /// Removes the lease of a dead process that left nothing open any more, unless it has come to life since its lease ended at $2.
    static let forget = Statement(
        "forget_dead", .uuid, .text,
        sql: "DELETE FROM chatterd_processes WHERE id = $1 AND expires_at = $2::timestamptz AND expires_at <= now()")

    /// Whether a streaming reply is released or handed over.
    static func isAbandoned(_ reply: String) -> String {
        "\(reply).holder IN (\(withoutOwner), \(handedOver)) AND \(reply).state = 'streaming'"
    }

    /// Whether a stopping process has handed a reply over.
    static func isHandedOver(_ reply: String) -> String { "\(reply).holder = \(handedOver)" }

    /// Whether a process is dead: it has no lease, and could have renewed one.
    static func isDead(_ holder: String) -> String {
        """
        (\(holder) IN (\(withoutOwner), \(handedOver)) OR \(isSteady)
            AND NOT EXISTS (SELECT FROM chatterd_processes l WHERE l.id = \(holder) AND l.expires_at > now()))
        """
    }

    /// Whether a process that lives has been able to renew its lease for a whole lifetime: another one has.
    static let isSteady = """
        EXISTS (
            SELECT FROM chatterd_processes l
            WHERE \(isUnbroken) AND l.since <= now() - interval '\(ProcessLease.lifetime) s')
        """

    /// Whether a lease, `l`, is renewed without a gap up to now.
    private static let isUnbroken = "l.expires_at > now() + interval '\(ProcessLease.lifetime - longestGap) s'"

    /// The holder of a released reply. It counts as dead.
    private static let withoutOwner = "'00000000-0000-0000-0000-000000000000'::uuid"

    /// The holder of a reply that was handed over. It counts as dead.
    private static let handedOver = "'00000000-0000-0000-0000-000000000001'::uuid"

    private static let piece = """
        piece AS MATERIALIZED (
            SELECT appid, seq, id, time, state FROM chatts WHERE holder = $1 AND time < $2::timestamptz
            ORDER BY time DESC FETCH FIRST \(pieceLimit) ROWS WITH TIES)
        """

    private static let rest = "CASE WHEN count(*) >= \(pieceLimit) THEN min(time)::text END FROM piece"
}
