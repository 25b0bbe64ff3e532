import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Renews the lease of this process every two seconds, and probes a database that has refused to store something. Confined to its shard.
///
/// That shard serves no requests, and its pool runs no other long statements: other processes take over the replies of a process whose lease
/// is not renewed for eight seconds, however busy it is.
public final class LeaseRenewal {
    private let lease: ProcessLease
    private let turns: TurnBoard
    private let pool: PostgresPool
    /// The number of renewals that may run at one time: one that hangs delays no other.
    private static let maximumRunning = 2

    private var timer: DeadlineTimer?
    private var renewals: [Int: Task<Void, Never>] = [:]
    private var lastNumber = 0
    private var isProbing = false

    /// Makes a renewal that is not started.
    ///
    /// - Parameter turns: the open turns of the process.
    public init(of lease: ProcessLease, turns: TurnBoard, pool: PostgresPool) {
        self.lease = lease
        self.turns = turns
        self.pool = pool
    }

    /// Begins the first renewal, and repeats it.
    public func start() {
        timer = DeadlineTimer(on: pool.shard) { [unowned self] in tick() }
        tick()
    }

    /// Returns when no renewal is running; none begins afterwards.
    public func end() async {
        timer = nil
        for renewal in renewals.values {
            await renewal.value
        }
    }

    /// Renews the lease.
    private func tick() {
        timer?.set(after: ProcessLease.renewalInterval)
        guard renewals.count < Self.maximumRunning else { return }
        lastNumber += 1
        let number = lastNumber
        let confined = Confined(self, to: pool.shard)
        renewals[number] = Task(executorPreference: pool.shard) { [lease, turns, pool] in
            let now = pool.shard.now
            // The pool has logged a failure, and the next tick tries again.
            if let renewed = try? await pool.run(lease.renewal) {
                lease.renewed(at: now)
                // A process without replies has no text in sheets. A process with replies repeats it before it releases older sheets.
                if turns.count == 0, let generation = renewed.first {
                    lease.releaseSheets(before: generation)
                }
            }
            confined.value.renewals[number] = nil
            // No renewal waits for a probe that hangs.
            await confined.value.probe()
        }
    }

    /// Probes the database, one probe at a time.
    private func probe() async {
        guard !isProbing else { return }
        isProbing = true
        await StoreProbe.run(pool, lease)
        isProbing = false
    }
}
