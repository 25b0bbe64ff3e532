import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of processes: which of them are alive, and which open replies dead ones own.
///
/// A process renews its lease all the time. So an expired lease belongs to a dead process, or to one that could not reach the
/// database. No process can reach it during a failover or a freeze. `isSteady` distinguishes the two: some process has renewed its
/// own lease without a gap for a whole lifetime, so the database was available to all of them.
enum LeaseStatements {
    /// The longest time between two renewals that leaves no gap, in seconds: two renewals, as one may be late.
    private static let longestGap = ProcessLease.lifetime / 2
    /// The number of rows of a process that one statement examines.
    private static let pieceLimit = 5_000

    /// The maximum number of handovers of a reply: ten restarts in a row while it waits or runs.
    private static let handovers = 10

    /// Renews the lease of a process, by the database's clock. Returns the current generation of sheets.
    ///
    /// - Parameter sheets: the oldest generation of sheets that the process needs; `nil` if it has not released any: a process without a
    ///   lease needs those from now on.
    static func renew(_ process: ReplyID, sheets: Int32?) -> Query<Int32> {
        Query(renewStatement, .uuid(process), sheets.map { .int8(Int64($0)) } ?? .null, .text(Migration.newest))
    }

    private static let renewStatement = Statement(
        "renew_lease", .uuid, .int8, .text,
        sql: """
            INSERT INTO chatterd_processes AS l (id, expires_at, since, sheets, schema)
            VALUES (
                $1, now() + interval '\(ProcessLease.lifetime) s', now(),
                coalesce($2::integer, (SELECT max(generation) FROM chatterd_sheet_tables)), $3)
            ON CONFLICT (id) DO UPDATE SET
                expires_at = excluded.expires_at, since = CASE WHEN \(isUnbroken) THEN l.since ELSE now() END,
                sheets = coalesce($2::integer, l.sheets)
            RETURNING (SELECT max(generation) FROM chatterd_sheet_tables)
            """
    ) { row in
        Int32(truncatingIfNeeded: row.nextInt())
    }

    /// Ends the lease of a process that leaves open replies.
    static func expire(_ process: ReplyID) -> Query<Void> { Query(expireStatement, .uuid(process)) }

    private static let expireStatement = Statement(
        "expire_lease", .uuid, sql: "UPDATE chatterd_processes SET expires_at = now() WHERE id = $1")

    /// Removes the lease of a process that leaves no open replies.
    static func end(_ process: ReplyID) -> Query<Void> { Query(endStatement, .uuid(process)) }

    private static let endStatement = Statement("end_lease", .uuid, sql: "DELETE FROM chatterd_processes WHERE id = $1")

    /// Removes the signals to a process.
    static func endSignals(to process: ReplyID) -> Query<Void> { Query(endSignalsStatement, .uuid(process)) }

    private static let endSignalsStatement = Statement(
        "end_signals", .uuid, sql: "DELETE FROM chatterd_signals WHERE holder = $1")

    /// Ends the leases of all processes. Only the only process may do so.
    static let endAll = Query(Statement("end_all_leases", sql: "DELETE FROM chatterd_processes"))

    /// Releases the replies of all other processes. Only the only process may do so. Reads all of `chatts`.
    static func releaseOthers(than process: ReplyID) -> Query<Void> { Query(releaseOthersStatement, .uuid(process)) }

    private static let releaseOthersStatement = Statement(
        "release_others", .uuid,
        sql: """
            UPDATE chatts SET holder = \(withoutOwner)
            WHERE turn = seq AND state = 'streaming' AND holder IS DISTINCT FROM $1 AND holder IS DISTINCT FROM \(handedOver)
            """)

    /// Releases a reply that a process owns.
    static func release(_ turn: Turn, owner: ReplyID) -> Query<Void> {
        Query(releaseStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(owner))
    }

    private static let releaseStatement = Statement(
        "release", after: .rowScope, .text, .int8, .uuid,
        sql: """
            UPDATE chatts SET holder = \(withoutOwner)
            WHERE appid = $1 AND seq = $2 AND state = 'streaming' AND \(ReplyStatements.isHolder("holder", "$3"))
            """)

    /// Hands a reply over to the other processes, if it has no text yet or its client wants it regenerated. The statement refuses
    /// a reply that a client has stopped, and a reply that was handed over too often.
    static func handOver(_ turn: Turn, id: ReplyID, owner: ReplyID, attempt: Int, isEmpty: Bool) -> Query<Void> {
        Query(
            handOverStatement, .text(turn.conversation.text), .int8(turn.number), .uuid(id), .uuid(owner),
            .int8(attempt),
            .boolean(isEmpty))
    }

    private static let handOverStatement = Statement(
        "hand_over", after: .rowScope, .text, .int8, .uuid, .uuid, .int8, .boolean,
        sql: """
            UPDATE chatts c SET holder = \(handedOver), handovers = coalesce(handovers, 0) + 1
            WHERE appid = $1 AND seq = $2 AND id = $3 AND state = 'streaming' AND coalesce(attempt, 1) = $5
                AND \(ReplyStatements.isHolder("holder", "$4")) AND ($6 OR on_interrupt = 'regenerate')
                AND coalesce(handovers, 0) < \(handovers) AND NOT \(ReplyStatements.isStopped("c"))
            """)

    /// Releases a reply of a dead process.
    static func releaseDead(_ turn: Turn) -> Query<Void> {
        Query(releaseDeadStatement, .text(turn.conversation.text), .int8(turn.number))
    }

    private static let releaseDeadStatement = Statement(
        "release_dead", after: .rowScope, .text, .int8,
        sql: """
            UPDATE chatts SET holder = \(withoutOwner)
            WHERE appid = $1 AND seq = $2 AND state = 'streaming' AND holder NOT IN (\(withoutOwner), \(handedOver))
                AND \(isDead("holder"))
            """)

    /// The running replies among the newest rows of a process before a time, and a last row with the time at which to continue.
    static func held(by process: ReplyID, before time: String) -> Query<Held> {
        Query(heldStatement, .uuid(process), .text(time))
    }

    /// A row of `held`.
    struct Held {
        /// `nil` in the last row.
        let turn: Turn?
        let id: ReplyID
        /// The time at which to continue, in the last row; `nil` if there are no older rows.
        let nextTime: String?
    }

    private static let heldStatement = Statement(
        "held_turns", .uuid, .text, returnsBinary: true,
        sql: """
            WITH \(piece)
            SELECT appid, seq, id, NULL FROM piece WHERE state = 'streaming'
            UNION ALL
            SELECT NULL, NULL, NULL, \(rest)
            """
    ) { row in
        let (key, number) = (row.nextOptionalText(), row.nextInt())
        return Held(
            turn: key.map { Turn(conversation: ConversationKey(parsing: $0), number: Int64(number)) },
            id: row.nextReplyID(),
            nextTime: row.nextOptionalText())
    }

    /// Releases the running replies among the newest rows of a dead process before a time.
    ///
    /// The caller continues until it has examined all rows of the process. The age of an open reply has no bound, because a reply
    /// may have waited, or have been adopted after days.
    static func releaseHeld(by process: ReplyID, before time: String) -> Query<Release> {
        Query(releaseHeldStatement, .uuid(process), .text(time))
    }

    /// The outcome of `releaseHeld`.
    struct Release {
        /// Whether the process is dead. Otherwise the statement has changed no row.
        let isDead: Bool
        /// The time at which to continue; `nil` if there are no older rows.
        let nextTime: String?
    }

    private static let releaseHeldStatement = Statement(
        "release_held", .uuid, .text,
        sql: """
            WITH \(piece), released AS (
                UPDATE chatts c SET holder = \(withoutOwner) FROM piece p
                WHERE p.state = 'streaming' AND c.appid = p.appid AND c.seq = p.seq AND c.state = 'streaming'
                    AND \(ReplyStatements.isHolder("c.holder", "$1")) AND \(isDead("$1"))
            )
            SELECT \(isDead("$1")), \(rest)
            """
    ) { row in
        Release(isDead: row.nextBool(), nextTime: row.nextOptionalText())
    }

    /// The other processes that are dead and may own open replies.
    static func dead(except process: ReplyID) -> Query<DeadProcess> { Query(deadStatement, .uuid(process)) }

    /// A process whose lease has expired.
    struct DeadProcess {
        let id: ReplyID
        /// The time at which the lease has expired.
        let expiry: String
    }

    private static let deadStatement = Statement(
        "dead_processes", .uuid, returnsBinary: true,
        sql: """
            SELECT d.id, d.expires_at::text FROM chatterd_processes d
            WHERE d.id <> $1 AND d.expires_at <= now() AND \(isSteady)
            """
    ) { row in
        DeadProcess(id: row.nextReplyID(), expiry: row.nextText())
    }

    /// Whether any streaming reply is released or handed over.
    static let isAnyAbandoned = Query(
        Statement(
            "is_any_abandoned", sql: "SELECT EXISTS (SELECT FROM chatts c WHERE \(isAbandoned("c")))"
        ) { row in row.nextBool() })

    /// Removes the lease of a dead process that owns no open replies any more, unless the process has renewed it meanwhile.
    static func forget(_ process: DeadProcess) -> Query<Void> {
        Query(forgetStatement, .uuid(process.id), .text(process.expiry))
    }

    private static let forgetStatement = Statement(
        "forget_dead", .uuid, .text,
        sql: "DELETE FROM chatterd_processes WHERE id = $1 AND expires_at = $2::timestamptz AND expires_at <= now()")

    /// Whether a streaming reply is released or handed over.
    static func isAbandoned(_ reply: String) -> String {
        "\(reply).holder IN (\(withoutOwner), \(handedOver)) AND \(reply).state = 'streaming'"
    }

    /// Whether a stopping process has handed a reply over.
    static func isHandedOver(_ reply: String) -> String { "\(reply).holder = \(handedOver)" }

    /// Whether a process is dead: it has no lease, although it could have renewed one.
    static func isDead(_ holder: String) -> String {
        """
        (\(holder) IN (\(withoutOwner), \(handedOver)) OR \(isSteady)
            AND NOT EXISTS (SELECT FROM chatterd_processes l WHERE l.id = \(holder) AND l.expires_at > now()))
        """
    }

    /// Whether a live process could renew its lease for a whole lifetime: another one has done so.
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
