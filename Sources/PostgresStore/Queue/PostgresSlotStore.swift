import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// The queues in the table `chatterd_queue`. From any shard, cheapest from the pool's.
public final class PostgresSlotStore: SlotStore {
    /// Tickets, and ranks, that are removed at a time.
    private static let sweepLimit: Int64 = 1_000

    private let pool: PostgresPool
    private let lease: ProcessLease

    public init(pool: PostgresPool, lease: ProcessLease) {
        self.pool = pool
        self.lease = lease
    }

    public func enter(_ ticket: SlotTicket) async throws(RelayError) -> SlotEntry {
        // A request outside of conversations opens no turn, so nothing else has renewed the lease.
        // The caller may be on another shard than the pool.
        let now = Shard.readClock()
        let renewal = lease.isLate(at: now) ? [lease.renewal] : []
        var results = try await run(
            renewal + [
                Query(SlotStatements.lock, .text(ticket.upstream)),
                Query(
                    SlotStatements.enter, .text(ticket.upstream), ticket.reply.parameter, .text(ticket.appID),
                    lease.parameter),
                grantQuery(ticket.upstream, slots: ticket.slots),
                Query(SlotStatements.place, .text(ticket.upstream), ticket.reply.parameter),
            ])
        if !renewal.isEmpty {
            lease.renewed(at: now)
            results.removeFirst()
        }
        guard results[3].bool(0, 2) == true else {
            throw results[3].bool(0, 3) == true ? RelayError.takenMeanwhile : RelayError.goneMeanwhile
        }
        var place: QueuePlace?
        if let position = results[3].int(0, 0), let length = results[3].int(0, 1), length > 0 {
            place = QueuePlace(upstream: ticket.upstream, position: position, length: length)
        }
        return SlotEntry(place: place, granted: ownKeys(results[2], upstream: ticket.upstream))
    }

    public func leave(_ ticket: SlotTicket) async throws(RelayError) -> [SlotKey] {
        let results = try await run([
            Query(SlotStatements.lock, .text(ticket.upstream)),
            Query(SlotStatements.leave, .text(ticket.upstream), ticket.reply.parameter, lease.parameter),
            grantQuery(ticket.upstream, slots: ticket.slots),
        ])
        return ownKeys(results[2], upstream: ticket.upstream)
    }

    public func grant(at upstream: String, slots: Int) async throws(RelayError) -> [SlotKey] {
        let results = try await run([
            Query(SlotStatements.lock, .text(upstream)), grantQuery(upstream, slots: slots),
        ])
        return ownKeys(results[1], upstream: upstream)
    }

    public func granted() async throws(RelayError) -> [SlotKey] {
        Self.keys(try await run([Query(SlotStatements.granted, lease.parameter)])[0])
    }

    public func survey(_ upstreams: [String]) async throws(RelayError) -> SlotSurvey {
        // In this order: a ticket that is given a slot in between is in both, and not in neither.
        let results = try await run([
            Query(SlotStatements.places, lease.parameter), Query(SlotStatements.granted, lease.parameter),
            Query(SlotStatements.runningAt, .textArray(upstreams)),
        ])
        var survey = SlotSurvey()
        for (row, key) in Self.keys(results[0]).enumerated() {
            if let position = results[0].int(row, 2), let length = results[0].int(row, 3) {
                survey.places[key] = QueuePlace(upstream: key.upstream, position: position, length: length)
            }
        }
        survey.granted = Self.keys(results[1])
        for row in 0..<results[2].rowCount {
            if let upstream = results[2].string(row, 0) {
                survey.running[upstream] = results[2].int(row, 1)
            }
        }
        return survey
    }

    public func load(of upstream: String) async throws(RelayError) -> SlotLoad {
        let found = try await run([Query(SlotStatements.load, .text(upstream))])[0]
        return SlotLoad(
            running: found.int(0, 0) ?? 0, waiting: found.int(0, 1) ?? 0,
            hold: found.int(0, 2).map { .microseconds($0) })
    }

    /// Removes what is in the queues for nothing, a bounded piece of it.
    func sweep() async throws(RelayError) {
        let stale = try await run([Query(SlotStatements.stale, .int8(Self.sweepLimit))])[0]
        for (upstream, keys) in Dictionary(grouping: Self.keys(stale), by: \.upstream) {
            _ = try await run([
                Query(SlotStatements.lock, .text(upstream)),
                Query(
                    SlotStatements.remove, .text(upstream), .uuidArray(keys.map { ($0.reply.high, $0.reply.low) })),
            ])
        }
        let queues = try await run([Query(SlotStatements.queues)])[0]
        for row in 0..<queues.rowCount {
            guard let upstream = queues.string(row, 0) else { continue }
            _ = try await run([
                Query(SlotStatements.lock, .text(upstream)),
                Query(SlotStatements.forgetRanks, .text(upstream), .int8(Self.sweepLimit)),
            ])
        }
    }

    private func grantQuery(_ upstream: String, slots: Int) -> Query {
        Query(SlotStatements.grant, .text(upstream), .int8(slots), lease.parameter)
    }

    /// The tickets of this process among those that were granted.
    private func ownKeys(_ granted: QueryResult, upstream: String) -> [SlotKey] {
        (0..<granted.rowCount).compactMap { row in
            guard granted.bool(row, 1) == true, let reply = granted.replyID(row, 0) else { return nil }
            return SlotKey(upstream: upstream, reply: reply)
        }
    }

    /// The tickets in the first two columns.
    private static func keys(_ found: QueryResult) -> [SlotKey] {
        (0..<found.rowCount).compactMap { row in
            guard let upstream = found.string(row, 0), let reply = found.replyID(row, 1) else { return nil }
            return SlotKey(upstream: upstream, reply: reply)
        }
    }

    private func run(_ queries: [Query]) async throws(RelayError) -> [QueryResult] {
        try await pool.runForRelay(queries, attempts: 1)
    }
}
