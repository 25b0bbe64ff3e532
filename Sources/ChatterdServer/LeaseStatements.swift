import Postgres

/// The SQL of the processes: who is alive, and what the dead left open.
enum LeaseStatements {
    /// Keeps this process alive in the eyes of the others for some seconds, by the database's clock.
    static let renew = Statement(
        "renew_lease", .uuid, .int8,
        sql: """
            INSERT INTO chatterd_processes (id, expires_at) VALUES ($1, now() + make_interval(secs => $2))
            ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
            """)

    /// Says that this process makes nothing any more.
    static let expire = Statement(
        "expire_lease", .uuid, sql: "UPDATE chatterd_processes SET expires_at = now() WHERE id = $1")

    /// Removes the lease of this process, unless it leaves replies open.
    static let end = Statement(
        "end_lease", .uuid,
        sql: "DELETE FROM chatterd_processes l WHERE l.id = $1 AND \(holdsNothing)")

    /// Removes what was told to this process.
    static let endSignals = Statement(
        "end_signals", .uuid, sql: "DELETE FROM chatterd_signals WHERE holder = $1")

    /// Ends the leases of all processes: for one that knows that it is the only one.
    static let endAll = Statement("end_all_leases", sql: "DELETE FROM chatterd_processes")

    /// Takes all replies from other processes: for one that knows that it is the only one.
    static let releaseOthers = Statement(
        "release_others", .uuid,
        sql: """
            UPDATE chatts c SET holder = \(nobody) FROM chatterd_processes l
            WHERE l.id <> $1 AND \(isHeld("l.id"))
            """)

    /// Gives up a reply of this process.
    static let release = Statement(
        "release", .text, .int8, .uuid,
        sql: """
            UPDATE chatts SET holder = \(nobody)
            WHERE appid = $1 AND seq = $2 AND state = 'streaming' AND \(ReplyStatements.isHolder("holder", "$3"))
            """)

    /// The turns that this process holds.
    static let held = Statement(
        "held_turns", .uuid, sql: "SELECT c.appid, c.seq FROM chatts c WHERE \(isHeld("$1"))")

    /// Whether there are other processes that are dead, and may have left replies open, or such replies were given up.
    static let isAnyoneDead = Statement(
        "is_anyone_dead", .uuid,
        sql: """
            SELECT EXISTS (SELECT FROM chatterd_processes l WHERE l.id <> $1 AND \(hasExpired))
                OR EXISTS (SELECT FROM chatts c WHERE \(isHeld(nobody)))
            """)

    /// Removes the leases of dead processes that left nothing open, or nothing any more.
    static let forgetDead = Statement(
        "forget_dead", .uuid,
        sql: "DELETE FROM chatterd_processes l WHERE l.id <> $1 AND l.expires_at <= now() AND \(holdsNothing)")

    /// What dead processes left open, and what was given up: `c` of `chatts`.
    static let abandoned = """
        (SELECT id FROM chatterd_processes l WHERE l.id <> $1 AND \(hasExpired) UNION ALL SELECT \(nobody)) AS l
        JOIN chatts c ON \(isHeld("l.id"))
        """

    /// Whether a process is dead: it has no lease, and the database is up for long enough that it could have renewed it.
    static func isDead(_ holder: String) -> String {
        """
        (\(holder) = \(nobody) OR pg_postmaster_start_time() < now() - interval '\(ProcessLease.lifetime) s'
            AND NOT EXISTS (SELECT FROM chatterd_processes l WHERE l.id = \(holder) AND l.expires_at > now()))
        """
    }

    /// The process that is always dead.
    private static let nobody = "'00000000-0000-0000-0000-000000000000'::uuid"

    /// Whether a lease, `l`, has run out, and not because the database was away.
    private static let hasExpired = """
        l.expires_at <= now() AND pg_postmaster_start_time() < now() - interval '\(ProcessLease.lifetime) s'
        """

    private static let holdsNothing = "NOT EXISTS (SELECT FROM chatts c WHERE \(isHeld("l.id")))"

    /// Whether a reply, `c`, is being made by a process. None is made for longer than two days: an answer has a day at most.
    private static func isHeld(_ holder: String) -> String {
        "c.holder = \(holder) AND c.time > now() - interval '2 days' AND c.state = 'streaming'"
    }
}
