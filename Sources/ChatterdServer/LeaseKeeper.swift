import Postgres
import Relay
import Sockets

/// Renews the lease of this process while turns are open. Confined to its shard.
final class LeaseKeeper: @unchecked Sendable {
    private let pool: PostgresPool
    private let lease: ProcessLease
    private let turns: TurnBoard
    private let shard: Shard
    private var timer: DeadlineTimer?

    init(pool: PostgresPool, lease: ProcessLease, turns: TurnBoard) {
        self.pool = pool
        self.lease = lease
        self.turns = turns
        shard = pool.shard
    }

    /// Begins; on the shard.
    func start() {
        timer = DeadlineTimer(on: shard) { [unowned self] in tick() }
        timer?.set(after: .nanoseconds(ProcessLease.renewal))
    }

    private func tick() {
        let now = shard.now
        if turns.count > 0, let renewal = lease.renewal(at: now) {
            Task(executorPreference: shard) { [self] in
                // When it fails the pool has logged why; the next tick tries again.
                if (try? await pool.run(renewal)) != nil {
                    lease.renewed(at: now)
                }
            }
        }
        timer?.set(after: .nanoseconds(ProcessLease.renewal))
    }

    /// Ends the lease, so that nobody waits for turns of this process. From any thread.
    func end() async {
        await withCheckedContinuation { ended in
            shard.run { [self] in
                // Let go here: a timer may end on its shard only.
                timer = nil
                ended.resume()
            }
        }
        // The process ends anyway: then the lease runs out by itself.
        _ = try? await pool.run(Query(ConversationStatements.endLease, lease.parameter))
    }
}
