import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// The queues in the table `chatterd_queue`. Safe on any shard, and cheapest on the pool's.
public final class PostgresSlotStore: SlotStore {
    /// The number of tickets, or ranks, that one statement of a sweep removes.
    private static let sweepLimit = 1_000

    private let pool: PostgresPool
    private let lease: ProcessLease

    public init(pool: PostgresPool, lease: ProcessLease) {
        self.pool = pool
        self.lease = lease
    }

    public func enter(_ ticket: SlotTicket) async throws(RelayError) -> SlotEntry {
        // A request outside of conversations opens no turn, so no other statement has renewed the lease. The caller may be on another shard
        // than the pool.
        let now = Shard.readClock()
        var transaction = Transaction()
        let isRenewing = lease.addRenewal(to: &transaction, ifLateAt: now)
        transaction.add(SlotStatements.lock(ticket.upstream))
        transaction.add(SlotStatements.enter(ticket, process: lease.id))
        let grant = transaction.add(grantQuery(at: ticket.upstream, slots: ticket.slots))
        let position = transaction.add(SlotStatements.position(of: ticket))
        let results = try await pool.runForRelay(transaction)
        if isRenewing {
            lease.renewed(at: now)
        }
        guard let found = results[position].first, found.hasTicket else {
            throw results[position].first?.hasReply == true ? RelayError.ownershipLost : RelayError.conversationGone
        }
        let queuePosition =
            found.length > 0
            ? QueuePosition(upstream: ticket.upstream, position: found.position, length: found.length) : nil
        return SlotEntry(position: queuePosition, granted: ownKeys(results[grant], at: ticket.upstream))
    }

    public func leave(_ ticket: SlotTicket) async throws(RelayError) -> [SlotKey] {
        var transaction = Transaction()
        transaction.add(SlotStatements.lock(ticket.upstream))
        transaction.add(SlotStatements.leave(ticket, process: lease.id))
        let grant = transaction.add(grantQuery(at: ticket.upstream, slots: ticket.slots))
        return ownKeys(try await pool.runForRelay(transaction)[grant], at: ticket.upstream)
    }

    public func grant(at upstream: String, slots: Int) async throws(RelayError) -> [SlotKey] {
        var transaction = Transaction()
        transaction.add(SlotStatements.lock(upstream))
        let grant = transaction.add(grantQuery(at: upstream, slots: slots))
        return ownKeys(try await pool.runForRelay(transaction)[grant], at: upstream)
    }

    public func granted() async throws(RelayError) -> [SlotKey] {
        Array(try await pool.runForRelay(SlotStatements.granted(to: lease.id)))
    }

    public func survey(_ upstreams: [String]) async throws(RelayError) -> SlotSnapshot {
        // In this order, a ticket that is granted a slot meanwhile is in both results instead of none.
        var transaction = Transaction()
        let waiting = transaction.add(SlotStatements.waiting(of: lease.id))
        let granted = transaction.add(SlotStatements.granted(to: lease.id))
        let running = transaction.add(SlotStatements.running(at: upstreams))
        let results = try await pool.runForRelay(transaction)
        var survey = SlotSnapshot()
        for ticket in results[waiting] {
            survey.positions[ticket.key] = QueuePosition(
                upstream: ticket.key.upstream, position: ticket.position, length: ticket.length)
        }
        survey.granted = Array(results[granted])
        for server in results[running] {
            survey.running[server.upstream] = server.count
        }
        return survey
    }

    public func load(of upstream: String) async throws(RelayError) -> SlotLoad {
        try await pool.runForRelay(SlotStatements.load(of: upstream)).first
            ?? SlotLoad(running: 0, waiting: 0, hold: nil)
    }

    /// Removes stale tickets and ranks, a bounded number of them.
    func sweep() async throws(RelayError) {
        let stale = try await pool.runForRelay(SlotStatements.stale(limit: Self.sweepLimit))
        for (upstream, keys) in Dictionary(grouping: stale, by: \.upstream) {
            try await change(upstream, SlotStatements.remove(keys.map(\.reply), at: upstream))
        }
        for upstream in try await pool.runForRelay(SlotStatements.queues) {
            try await change(upstream, SlotStatements.forgetRanks(at: upstream, limit: Self.sweepLimit))
        }
    }

    private func change(_ upstream: String, _ query: Query<Void>) async throws(RelayError) {
        var transaction = Transaction()
        transaction.add(SlotStatements.lock(upstream))
        transaction.add(query)
        _ = try await pool.runForRelay(transaction)
    }

    private func grantQuery(at upstream: String, slots: Int) -> Query<SlotStatements.Granted> {
        SlotStatements.grant(at: upstream, slots: slots, process: lease.id)
    }

    /// The tickets of this process among those that were granted slots.
    private func ownKeys(_ granted: Rows<SlotStatements.Granted>, at upstream: String) -> [SlotKey] {
        granted.filter(\.isOwn).map { SlotKey(upstream: upstream, reply: $0.reply) }
    }
}
