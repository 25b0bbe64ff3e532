import Bytes
import Postgres
import Relay

/// The sign of life of this process in the database: other processes leave its open turns alone while it holds.
///
/// Renewed by database time, along with the opening of turns, and by `Housekeeper` while turns are open, however long its rounds are.
final class ProcessLease: Sendable {
    /// How long a sign of life counts, in seconds.
    static let lifetime = 8
    /// After how long it is given again, in nanoseconds.
    static let renewal: UInt64 = 2_000_000_000
    /// How many rounds of the housekeeper a doubt lasts.
    private static let doubtRounds = 10

    /// The name of this process.
    let id: ReplyID
    private let renewedAt = Lock<UInt64?>(nil)
    private let doubts = Lock(0)

    init(id: ReplyID) {
        self.id = id
    }

    /// The name as a parameter.
    var parameter: Parameter { .uuid(high: id.high, low: id.low) }

    /// The query that renews the lease, if it is time to at `now` nanoseconds of the monotonic clock.
    func renewal(at now: UInt64) -> Query? {
        let isDue = renewedAt.withLock { $0.map { now &- $0 >= Self.renewal } ?? true }
        return isDue ? Query(LeaseStatements.renew, parameter, .int8(Self.lifetime)) : nil
    }

    /// Notes that the lease was renewed by a query sent at `now`.
    func renewed(at now: UInt64) {
        renewedAt.withLock { $0 = max($0 ?? 0, now) }
    }

    /// Notes that it is unknown whether the database holds a turn as one of this process: the confirmation was lost.
    func doubt() {
        doubts.withLock { $0 = Self.doubtRounds }
    }

    /// Whether there is reason to look for such turns. Each doubt is a reason for a while: a batch that was given up may
    /// yet be done.
    func takeDoubt() -> Bool {
        doubts.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
    }
}
