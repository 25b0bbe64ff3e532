import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Keeps the lease of this process, closes what dead processes left open, and clears away what has outlived its use. Confined
/// to its shard.
///
/// Every two seconds a round, which asks one cheap question when there is nothing to do; what is much is done in bounded pieces.
public final class Housekeeper: @unchecked Sendable {
    /// Replies that are settled, journals that are looked at, keys that are removed at a time.
    private static let settleLimit: Int64 = 100
    private static let sweepLimit: Int64 = 500
    private static let keyLimit: Int64 = 1_000
    /// Pieces of replies, and of keys, in one round.
    private static let pieces = 10
    /// Rounds between two looks at what is not urgent.
    private static let calm = 5
    /// Rounds between two sweeps of the journal.
    private static let sweepPause = 30

    private let store: PostgresConversationStore
    private let slots: PostgresSlotStore
    private let lease: ProcessLease
    private let turns: TurnBoard
    private let adopt: @Sendable () async -> Void
    private let resolve: @Sendable () async -> Void
    private let look: @Sendable () async -> Void
    private let pool: PostgresPool
    private let shard: Shard
    private let retention: Retention?
    private var timer: DeadlineTimer?
    private var round: Task<Void, Never>?
    /// The lease does not wait for a round: that may take longer than the lease holds.
    private var renewal: Task<Void, Never>?
    /// Nor do changes of the list of model servers.
    private var glance: Task<Void, Never>?
    /// A round that is on its way goes no further than the piece that it is at.
    private var isEnding = false
    private var count = 0
    /// The last reply in the journal that was looked at; nothing between two sweeps.
    private var swept: (appID: String, reply: ReplyID)?

    /// Makes one that is not started.
    ///
    /// - Parameters:
    ///   - store: a store of its own, on the shard.
    ///   - retention: after what time without an addition a conversation is removed; nothing keeps all.
    ///   - adopt: has `adoptAbandoned` called and the replies made; returns when their turns are on the board.
    ///   - resolve: calls `resolveUnconfirmed`.
    ///   - look: looks whether the list of model servers has changed.
    public init(
        store: PostgresConversationStore, turns: TurnBoard, retention: Duration?,
        adopt: @escaping @Sendable () async -> Void, resolve: @escaping @Sendable () async -> Void = {},
        look: @escaping @Sendable () async -> Void = {}
    ) {
        self.store = store
        slots = PostgresSlotStore(pool: store.pool, lease: store.lease)
        self.turns = turns
        self.adopt = adopt
        self.resolve = resolve
        self.look = look
        lease = store.lease
        pool = store.pool
        shard = store.pool.shard
        self.retention = retention.map { Retention($0, store: store) }
    }

    /// Begins; on the shard.
    public func start() {
        timer = DeadlineTimer(on: shard) { [unowned self] in tick() }
        renewSoon()
        timer?.set(after: ProcessLease.renewal)
    }

    /// Ends the lease, so that nobody waits for turns of this process. From any thread.
    public func end() async {
        // On the shard, as a timer may end there only.
        await Task(executorPreference: shard) { [self] in
            isEnding = true
            timer = nil
            for task in [round, renewal, glance] {
                await task?.value
            }
            let leavesNothing = turns.count == 0 && lease.doubtsLeft == 0
            // The process ends anyway: if this fails the lease runs out by itself.
            _ = try? await pool.run([
                Query(leavesNothing ? LeaseStatements.end : LeaseStatements.expire, lease.parameter),
                Query(LeaseStatements.endSignals, lease.parameter),
            ])
        }.value
    }

    /// Closes all that others left open, whether they are dead or not: for a process that knows that it is the only one.
    ///
    /// What is to be made again is left for the first round to adopt.
    public func takeOver() async throws(PostgresError) {
        _ = try await pool.run([
            Query(LeaseStatements.releaseOthers, lease.parameter), Query(LeaseStatements.endAll),
        ])
        while try await settleAbandoned() == Self.settleLimit {}
    }

    private func tick() {
        renewSoon()
        if round == nil {
            round = Task(executorPreference: shard) { [self] in
                // When something fails the pool has logged why; the next round tries again.
                _ = try? await runRound()
                round = nil
            }
        }
        if glance == nil {
            glance = Task(executorPreference: shard) { [self] in
                await look()
                glance = nil
            }
        }
        timer?.set(after: ProcessLease.renewal)
    }

    /// Renews the lease, unless a renewal is on its way. On the shard.
    private func renewSoon() {
        guard renewal == nil else { return }
        renewal = Task(executorPreference: shard) { [self] in
            let now = shard.now
            // When it fails the pool has logged why; the next tick tries again.
            if (try? await pool.run(lease.renewal)) != nil {
                lease.renewed(at: now)
            }
            renewal = nil
        }
    }

    /// One round. On the shard.
    func runRound() async throws {
        guard !isEnding else { return }
        count += 1
        try await releaseRepliesOfTheDead()
        if try await pool.run(Query(LeaseStatements.isAnyAbandoned)).bool(0, 0) == true {
            try await repeatPiece(of: Self.settleLimit) { [self] in try await settleAbandoned() }
            guard !isEnding else { return }
            await adopt()
        }
        await resolve()
        let doubtsLeft = lease.doubtsLeft
        if doubtsLeft > 0 {
            try await giveUpUnknown(isLastLook: doubtsLeft == 1)
            lease.lessenDoubt()
        }
        guard !isEnding else { return }
        if count % Self.calm == 0 {
            _ = try await pool.run(Query(RetentionStatements.expireSignals))
            try await repeatPiece(of: Self.keyLimit) { [self] in
                Int64(try await pool.run(Query(RetentionStatements.expireKeys, .int8(Self.keyLimit))).affectedRows)
            }
            // It waits for locks: when it fails the rest is done all the same.
            try? await slots.sweep()
        }
        if count % Self.sweepPause == 0, swept == nil {
            swept = ("", ReplyID(high: 0, low: 0))
        }
        if let swept {
            try await sweepJournal(after: swept)
        }
        try await retention?.expire { [unowned self] in !isEnding }
    }

    /// Does a piece of work again while it is a full one: a few times, so that the rest of the round has its turn.
    private func repeatPiece(of limit: Int64, _ piece: () async throws -> Int64) async throws {
        for _ in 0..<Self.pieces {
            guard !isEnding, try await piece() == limit else { return }
        }
    }

    private func settleAbandoned() async throws(PostgresError) -> Int64 {
        let settled = try await pool.run(Query(ReplyStatements.settleAbandoned, .int8(Self.settleLimit)))
        return Int64(settled.affectedRows)
    }

    /// Gives up what dead processes left open, and forgets their leases.
    private func releaseRepliesOfTheDead() async throws(PostgresError) {
        let dead = try await pool.run(Query(LeaseStatements.dead, lease.parameter))
        for row in 0..<dead.rowCount {
            guard let process = dead.replyID(row, 0)?.parameter, let expiry = dead.string(row, 1) else { continue }
            var time: String? = Self.newest
            while let before = time {
                guard !isEnding else { return }
                let piece = try await pool.run(Query(LeaseStatements.releaseHeld, process, .text(before)))
                guard piece.bool(0, 0) == true else { return }
                time = piece.string(0, 1)
            }
            _ = try await pool.run(Query(LeaseStatements.forget, process, .text(expiry)))
        }
    }

    /// Releases turns that the database assigns to this process and that the process does not know. It examines all of them at the
    /// last look, and only the newest ones before.
    private func giveUpUnknown(isLastLook: Bool) async throws(PostgresError) {
        var time: String? = Self.newest
        while let before = time {
            let held = try await pool.run(Query(LeaseStatements.held, lease.parameter, .text(before)))
            time = isLastLook ? held.string(held.rowCount - 1, 3) : nil
            for row in 0..<held.rowCount {
                guard !isEnding else { return }
                guard let appID = held.string(row, 0), let number = held.int(row, 1), let id = held.replyID(row, 2),
                    !turns.unconfirmed.contains(id), turns.isAbandoned(Turn(appID: appID, number: Int64(number)))
                else { continue }
                _ = try await pool.run(
                    Query(LeaseStatements.release, .text(appID), .int8(number), lease.parameter))
            }
        }
    }

    /// Where a look through the replies of a process begins.
    private static let newest = "infinity"

    /// Removes journals of replies that are over: a process wrote on after its reply was closed by another one.
    private func sweepJournal(after place: (appID: String, reply: ReplyID)) async throws {
        let found = try await pool.run(
            Query(
                RetentionStatements.nextJournals, .text(place.appID), place.reply.parameter, .int8(Self.sweepLimit)))
        var last: (appID: String, reply: ReplyID)?
        for row in 0..<found.rowCount {
            guard let appID = found.string(row, 0), let reply = found.replyID(row, 1) else { continue }
            guard !isEnding else { return }
            last = (appID, reply)
            if found.bool(row, 2) == true {
                try await store.sweep(appID: appID)
            }
        }
        swept = found.rowCount == Int(Self.sweepLimit) ? last : nil
    }
}
