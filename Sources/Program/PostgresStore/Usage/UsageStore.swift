import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The use of credentials in the database: requests that are passed on, and reports. Requests of replies are counted with their turns.
public final class UsageStore: Sendable {
    /// The limit of owners in one report.
    public static let ownersLimit = 1_000
    /// The limit of days in a report: those that are kept.
    public static let daysLimit = UsageStatements.keptDays
    /// The limit of settlements that wait for the database. The charges beyond it stay open until the process ends.
    private static let pendingLimit = 10_000

    private struct Settlement {
        let id: ReplyID
        let promptTokens: Int?
        let answerTokens: Int?
    }

    private let pool: PostgresPool
    private let lease: ProcessLease
    private let pending = Lock<[Settlement]>([])

    public init(pool: PostgresPool, lease: ProcessLease) {
        self.pool = pool
        self.lease = lease
    }

    // MARK: - Requests that are passed on

    /// Counts a request and reserves its tokens. `settle` must follow.
    ///
    /// - Parameters:
    ///   - bytes: the size of the prompt.
    ///   - answer: the tokens of the answer that the request permits; `nil` if it has no limit.
    /// - Throws: `rateLimited`; errors of the store. No token is reserved then.
    public func charge(_ meter: Meter, for id: ReplyID, bytes: Int, answer: Int?) async throws(RelayError) -> Quota? {
        var transaction = Transaction()
        let charge = transaction.add(
            UsageStatements.charge(meter, forPassed: id, by: lease.id, bytes: bytes, answer: answer))
        // A request outside of conversations opens no turn, so no other statement has renewed the lease. Turns are opened in this order
        // too: first the meters, then the lease.
        transaction.add(lease.renewal)
        do throws(RelayError) {
            return try await pool.runForRelay(transaction)[charge].first
        } catch {
            if error.isOutcomeUnknown {
                postpone(Settlement(id: id, promptTokens: 0, answerTokens: 0))
            }
            throw error
        }
    }

    /// Settles a request that was counted. If the database is unavailable, the housekeeper does it. `nil` counts keep what was reserved.
    public func settle(_ id: ReplyID, promptTokens: Int?, answerTokens: Int?) async {
        await settle(Settlement(id: id, promptTokens: promptTokens, answerTokens: answerTokens))
    }

    /// Counts a request of a principal without limits after its end. A failure is ignored: no limit depends on it.
    public func record(_ meter: Meter, for id: ReplyID, promptTokens: Int, answerTokens: Int) async {
        _ = try? await pool.runForRelay(
            UsageStatements.record(meter, id, promptTokens: promptTokens, answerTokens: answerTokens))
    }

    /// Settles the requests for which the database was unavailable.
    public func settlePending() async {
        let waiting = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for settlement in waiting {
            await settle(settlement)
        }
    }

    private func settle(_ settlement: Settlement) async {
        do throws(RelayError) {
            _ = try await pool.runForRelay(
                UsageStatements.settle(
                    settlement.id, promptTokens: settlement.promptTokens, answerTokens: settlement.answerTokens))
        } catch {
            postpone(settlement)
        }
    }

    private func postpone(_ settlement: Settlement) {
        pending.withLock { pending in
            guard pending.count < Self.pendingLimit else { return }
            pending.append(settlement)
        }
    }

    // MARK: - Reports

    /// The use of a subject on the last `days` days, with a page of its owners after one of them.
    public func report(
        of subject: UsageSubject, days: Int, after owner: Owner?, limit: Int
    ) async throws(RelayError) -> UsageReport {
        let (days, limit) = (min(days, Self.daysLimit), min(limit, Self.ownersLimit))
        var transaction = Transaction()
        let dayRows = transaction.add(UsageStatements.days(of: subject, days: days))
        if case .owner = subject {
            return UsageReport(
                days: Array(try await pool.runForRelay(transaction)[dayRows]), owners: [], hasMore: false)
        }
        let ownerRows = transaction.add(
            UsageStatements.people(of: subject, days: days, after: owner?.keyPrefix ?? "", limit: limit + 1))
        let results = try await pool.runForRelay(transaction)
        let owners = Array(results[ownerRows])
        return UsageReport(
            days: Array(results[dayRows]), owners: Array(owners.prefix(limit)), hasMore: owners.count > limit)
    }
}

/// The use of a subject on the last days.
public struct UsageReport: Sendable, Hashable {
    /// Today, and the earlier days with use, the newest first.
    public let days: [UsageRecord]
    /// A page of its owners; empty for the report of one owner.
    public let owners: [UsageRecord]
    /// Whether there are more owners.
    public let hasMore: Bool
}

/// The subject of a report of usage.
public enum UsageSubject: Sendable, Hashable {
    /// That of a key with all tokens made with it.
    case source(UsageSource)
    /// That of all keys and external issuers of an app.
    case app(String)
    /// That of an owner, with any credential.
    case owner(Owner)
}
