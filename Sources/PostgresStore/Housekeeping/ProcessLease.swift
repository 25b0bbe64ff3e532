import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// The sign of life of this process in the database: other processes leave its open turns alone while it holds.
///
/// `Housekeeper` renews it all the time, however long its rounds are. The opening of a turn renews it as well if it is late.
public final class ProcessLease: Sendable {
    /// How long a sign of life counts, in seconds.
    static let lifetime = 8
    /// The time between two renewals.
    static let renewal = Duration.seconds(2)
    /// How many rounds of the housekeeper a doubt lasts.
    private static let doubtRounds = 10

    /// The name of this process.
    let id: ReplyID
    private let renewedAt = Lock<Instant?>(nil)
    private let doubts = Lock(0)

    public init(id: ReplyID) {
        self.id = id
    }

    /// The name as a parameter.
    var parameter: Parameter { .uuid(high: id.high, low: id.low) }

    /// The query that renews the lease.
    var renewal: Query { Query(LeaseStatements.renew, parameter) }

    /// Whether the lease is to be renewed at `now`, before a turn is opened.
    func isLate(at now: Instant) -> Bool {
        renewedAt.withLock { $0.map { now - $0 >= Self.renewal * 3 / 2 } ?? true }
    }

    /// Notes that the lease was renewed by a query sent at `now`.
    func renewed(at now: Instant) {
        renewedAt.withLock { $0 = max($0 ?? now, now) }
    }

    /// Notes that it is unknown whether the database holds a turn as one of this process: the confirmation was lost.
    func doubt() {
        doubts.withLock { $0 = Self.doubtRounds }
    }

    /// How many times such turns are still to be looked for. A doubt lasts for a while, as a batch that was given up may yet be
    /// done.
    var doubtsLeft: Int { doubts.withLock { $0 } }

    /// Notes that such turns have been looked for.
    func lessenDoubt() {
        doubts.withLock { $0 = max(0, $0 - 1) }
    }
}
