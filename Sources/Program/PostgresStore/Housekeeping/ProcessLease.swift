import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The lease of this process in the database: other processes leave its open turns alone while it holds.
///
/// `LeaseRenewal` renews it continuously. The opening of a turn renews it as well if it is late.
public final class ProcessLease: Sendable {
    /// The time for which a renewal holds, in seconds.
    static let lifetime = 8
    /// The time between two renewals.
    static let renewalInterval = Duration.seconds(2)
    /// The age of a renewal at which the opening of a turn renews the lease as well.
    static let lateAge = Duration.seconds(3)
    /// The number of rounds of the housekeeper for which an uncertainty lasts.
    private static let uncertainRounds = 10

    /// The name of this process.
    let id: ReplyID
    private let renewedAt = Lock<Instant?>(nil)
    private let uncertainty = Lock(0)
    private let lastSlot = Lock<Int32>(0)
    private let oldestSheets = Lock<Int32?>(nil)

    public init(id: ReplyID) {
        self.id = id
    }

    /// Whether the last renewal is so old that the opening of a turn renews the lease.
    func isLate(at now: Instant) -> Bool {
        renewedAt.withLock { $0.map { now - $0 >= Self.lateAge } ?? true }
    }

    /// The time since the last renewal; zero before the first one. Safe on any thread.
    public func age(at now: Instant) -> Duration {
        renewedAt.withLock { $0.map { max(.zero, now - $0) } ?? .zero }
    }

    /// Adds a renewal to a transaction that opens a turn, if the lease is late.
    ///
    /// - Returns: whether it did. The caller then reports the success with `renewed(at:)`.
    func addRenewal(to transaction: inout Transaction, ifLateAt now: Instant) -> Bool {
        guard isLate(at: now) else { return false }
        transaction.add(renewal)
        return true
    }

    /// The query that renews the lease.
    var renewal: Query<Int32> { LeaseStatements.renew(id, sheets: oldestSheets.withLock { $0 }) }

    /// A number for a slot of the sheets of this process. The numbers repeat after two billion.
    func nextSlot() -> Int32 {
        lastSlot.withLock {
            $0 = $0 == .max ? 1 : $0 + 1
            return $0
        }
    }

    /// Records that this process needs no sheet before a generation. The next renewal says so.
    ///
    /// While the process may own replies that it does not know, it keeps all sheets: those replies are closed with their text in sheets.
    func releaseSheets(before generation: Int32) {
        guard uncertainRoundsLeft == 0 else { return }
        oldestSheets.withLock { $0 = max($0 ?? 0, generation) }
    }

    /// Records that a query sent at an instant has renewed the lease.
    func renewed(at now: Instant) {
        renewedAt.withLock { $0 = max($0 ?? now, now) }
    }

    /// Records that the database may assign a turn to this process that the process does not know, because the confirmation was
    /// lost.
    func markUncertain() {
        uncertainty.withLock { $0 = Self.uncertainRounds }
    }

    /// The number of rounds that still search for such turns. There are several, because the server may commit a transaction after
    /// its timeout.
    var uncertainRoundsLeft: Int { uncertainty.withLock { $0 } }

    /// Records that a round has searched for such turns.
    func consumeUncertainty() {
        uncertainty.withLock { $0 = max(0, $0 - 1) }
    }
}
