import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Closes the open replies of dead processes, and removes old data. Confined to its shard.
///
/// It runs a round every two seconds. A round costs one cheap query if there is no work, and large jobs run in bounded pieces.
public final class Housekeeper {
    /// What a round has done, for the metrics and the log.
    public enum Event: Sendable {
        /// A round has done all of its work.
        case roundEnded
        /// The lease of another process has ended, and its open replies are released.
        case processDied
        /// So many replies of dead processes are closed.
        case settled(Int)
        /// How long after its time a conversation was removed, at most.
        case retained(lag: Duration)
    }

    /// The time between the beginnings of two rounds, if none is running.
    private static let interval = Duration.seconds(2)
    /// The number of replies that one statement closes.
    private static let settleLimit = 100
    /// The number of journals that one round examines.
    private static let journalLimit = 500
    /// The number of idempotency keys that one statement removes.
    private static let keyLimit = 1_000
    /// The number of charges that one statement moves.
    private static let chargeLimit = 1_000
    /// The number of conversations of requests without an identity that one statement removes.
    private static let statelessLimit = 500
    /// The time for which such a conversation is kept after its last change, so that its reply can be read again.
    public static let statelessLifetime = Duration.seconds(60)
    /// The number of single requests that a slow round removes.
    private static let singleLimit = 50
    /// The time for which a single request is kept that nothing follows.
    public static let singleLifetime = Duration.seconds(30 * 24 * 3_600)
    /// The number of times that a round repeats a statement with a limit.
    private static let piecesPerRound = 10
    /// The number of rounds between two rounds that do less urgent work.
    private static let slowRoundInterval = 5
    /// The number of rounds between two sweeps of the journal.
    private static let journalSweepInterval = 30
    /// The time before which a search through the replies of a process starts.
    private static let newest = "infinity"

    private let store: PostgresConversationStore
    private let slots: PostgresSlotStore
    private let lease: ProcessLease
    private let turns: TurnBoard
    private let adopt: @Sendable () async -> Void
    private let resolve: @Sendable () async -> Void
    private let settle: @Sendable () async -> Void
    private let refreshUpstreams: @Sendable () async -> Void
    private let observe: @Sendable (Event) -> Void
    private let pool: PostgresPool
    private let shard: Shard
    private let retention: Retention?
    private var timer: DeadlineTimer?
    private var round: Task<Void, Never>?
    /// Separate from the round, so that changes of the list of model servers do not wait for it.
    private var upstreamRefresh: Task<Void, Never>?
    /// Whether a running round stops after its current statement.
    private var isEnding = false
    private var roundCount = 0
    /// The last reply that the sweep of the journal has examined; `nil` between two sweeps.
    private var sweptJournal: RetentionStatements.Journal?

    /// Creates a housekeeper that is not started.
    ///
    /// - Parameters:
    ///   - store: a separate store on the same shard.
    ///   - retention: the age at which a conversation is removed; `nil` keeps all conversations but single requests.
    ///   - adopt: calls `adoptAbandoned` and generates the replies; returns when their turns are on the board.
    ///   - resolve: calls `resolveUnconfirmed`.
    ///   - settle: calls `settlePending` of the process's `UsageStore`.
    ///   - refreshUpstreams: reads the list of model servers again if it has changed.
    ///   - observe: gets what the rounds have done, on the shard.
    public init(
        store: PostgresConversationStore, turns: TurnBoard, retention: Duration?,
        adopt: @escaping @Sendable () async -> Void, resolve: @escaping @Sendable () async -> Void = {},
        settle: @escaping @Sendable () async -> Void = {},
        refreshUpstreams: @escaping @Sendable () async -> Void = {},
        observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.store = store
        slots = PostgresSlotStore(pool: store.pool, lease: store.lease)
        self.turns = turns
        self.adopt = adopt
        self.resolve = resolve
        self.settle = settle
        self.refreshUpstreams = refreshUpstreams
        self.observe = observe
        lease = store.lease
        pool = store.pool
        shard = store.pool.shard
        self.retention = retention.map { Retention($0, store: store) }
    }

    /// Starts the rounds.
    public func start() {
        timer = DeadlineTimer(on: shard) { [unowned self] in tick() }
        timer?.set(after: Self.interval)
    }

    /// Ends the lease, so that no client waits for turns of this process. Its renewal has ended before.
    public func end() async {
        isEnding = true
        timer = nil
        for task in [round, upstreamRefresh] {
            await task?.value
        }
        let ownsNoTurns = turns.count == 0 && lease.uncertainRoundsLeft == 0
        var transaction = Transaction()
        transaction.add(ownsNoTurns ? LeaseStatements.end(lease.id) : LeaseStatements.expire(lease.id))
        transaction.add(LeaseStatements.endSignals(to: lease.id))
        // The last process leaves no text: the first call begins another table, the second one truncates the others.
        transaction.add(SheetStatements.finish)
        transaction.add(SheetStatements.finish)
        // The process ends anyway. If this fails, the lease expires.
        _ = try? await pool.run(transaction)
    }

    /// Releases the open replies of all other processes, and closes those that cannot be regenerated. Only the only process may do
    /// so.
    ///
    /// The first round adopts the others.
    public func takeOver() async throws(PostgresError) {
        var transaction = Transaction()
        transaction.add(LeaseStatements.releaseOthers(than: lease.id))
        transaction.add(LeaseStatements.endAll)
        _ = try await pool.run(transaction)
        while try await settleAbandoned() == Self.settleLimit {}
    }

    private func tick() {
        let keeper = Confined(self, to: shard)
        if round == nil {
            round = Task(executorPreference: shard) {
                // The pool has logged a failure, and the next round tries again.
                _ = try? await keeper.value.runRound()
                keeper.value.round = nil
            }
        }
        if upstreamRefresh == nil {
            upstreamRefresh = Task(executorPreference: shard) { [refreshUpstreams] in
                await refreshUpstreams()
                keeper.value.upstreamRefresh = nil
            }
        }
        timer?.set(after: Self.interval)
    }

    // MARK: - Rounds

    /// Runs a round.
    func runRound() async throws {
        guard !isEnding else { return }
        roundCount += 1
        try await releaseRepliesOfDeadProcesses()
        if try await pool.run(LeaseStatements.isAnyAbandoned).first == true {
            try await repeatPiece(of: Self.settleLimit) { [self] in try await settleAbandoned() }
            guard !isEnding else { return }
            await adopt()
        }
        await resolve()
        await settle()
        let roundsLeft = lease.uncertainRoundsLeft
        if roundsLeft > 0 {
            try await releaseUnknownReplies(isLastRound: roundsLeft == 1)
            lease.consumeUncertainty()
        }
        guard !isEnding else { return }
        if roundCount % Self.slowRoundInterval == 0 {
            try await removeExpiredRows()
        }
        // In each round, because the check of a limit adds up the charges that are not moved yet.
        try await repeatPiece(of: Self.chargeLimit) { [self] in
            try await pool.run(UsageStatements.fold(limit: Self.chargeLimit)).first ?? 0
        }
        try await repeatPiece(of: Self.statelessLimit) { [self] in
            try await pool.run(
                RetentionStatements.expireStateless(limit: Self.statelessLimit, age: Self.statelessLifetime)
            ).first ?? 0
        }
        try await sweepJournal()
        _ = try await pool.run(SheetStatements.turn)
        try await removeSingles()
        if let retention {
            try await retention.expire { [unowned self] in isEnding }
            observe(.retained(lag: retention.lag))
        }
        observe(.roundEnded)
    }

    /// Removes some old single requests, each of which may have as many prompts as a request.
    private func removeSingles() async throws {
        guard roundCount % Self.slowRoundInterval == 0, !isEnding else { return }
        _ = try await pool.run(RetentionStatements.expireSingles(limit: Self.singleLimit, age: Self.singleLifetime))
    }

    private func removeExpiredRows() async throws {
        _ = try await pool.run(RetentionStatements.expireSignals)
        _ = try await pool.run(AccessStatements.removeOld(after: AppKeyStore.auditAge))
        try await repeatPiece(of: Self.keyLimit) { [self] in
            try await pool.run(RetentionStatements.expireKeys(limit: Self.keyLimit)).affectedRows
        }
        _ = try await pool.run(UsageStatements.settleLost)
        _ = try await pool.run(UsageStatements.expire)
        _ = try await pool.run(UsageStatements.expireMeters)
        // The sweep waits for locks. Its failure does not stop the round.
        try? await slots.sweep()
    }

    /// Repeats a piece of work while it reaches its limit, but only a few times, so that the rest of the round can run.
    private func repeatPiece(of limit: Int, _ piece: () async throws -> Int) async throws {
        for _ in 0..<Self.piecesPerRound {
            guard !isEnding, try await piece() == limit else { return }
        }
    }

    private func settleAbandoned() async throws(PostgresError) -> Int {
        let count = try await pool.run(
            SettlementStatements.settleAbandoned(limit: Self.settleLimit, telling: store.hooks)
        ).affectedRows
        if count > 0 {
            observe(.settled(count))
        }
        return count
    }

    /// Releases the open replies of dead processes, and removes their leases.
    private func releaseRepliesOfDeadProcesses() async throws(PostgresError) {
        for process in try await pool.run(LeaseStatements.dead(except: lease.id)) {
            var time: String? = Self.newest
            while let before = time {
                guard !isEnding else { return }
                let release = try await pool.run(LeaseStatements.releaseHeld(by: process.id, before: before)).first
                guard let release, release.isDead else { return }
                time = release.nextTime
            }
            _ = try await pool.run(LeaseStatements.forget(process))
            observe(.processDied)
        }
    }

    /// Releases turns that the database assigns to this process and that the process does not know. It examines all of them in the
    /// last round, and only the newest ones before.
    private func releaseUnknownReplies(isLastRound: Bool) async throws(PostgresError) {
        var time: String? = Self.newest
        while let before = time {
            let held = try await pool.run(LeaseStatements.held(by: lease.id, before: before))
            time = isLastRound ? held.last?.nextTime : nil
            for reply in held {
                guard !isEnding else { return }
                guard let turn = reply.turn, !turns.unconfirmed.contains(reply.id), turns.isAbandoned(turn) else {
                    continue
                }
                _ = try await pool.run(LeaseStatements.release(turn, owner: lease.id))
            }
        }
    }

    /// Removes journals of closed replies: a process wrote on after another one had closed its reply.
    private func sweepJournal() async throws {
        if roundCount % Self.journalSweepInterval == 0, sweptJournal == nil {
            sweptJournal = .start
        }
        guard let start = sweptJournal else { return }
        let found = try await pool.run(RetentionStatements.nextJournals(after: start, limit: Self.journalLimit))
        for journal in found {
            guard !isEnding else { return }
            if journal.isObsolete {
                try await store.sweep(journal.conversation)
            }
        }
        sweptJournal = found.count == Self.journalLimit ? found.last : nil
    }
}
