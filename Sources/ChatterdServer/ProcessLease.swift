import Bytes
import Postgres
import Relay

/// The sign of life of this process in the database: other processes leave its open turns alone while it holds.
///
/// Renewed by database time, along with the opening of turns, and by `LeaseKeeper` while turns are open.
final class ProcessLease: Sendable {
    /// How long a sign of life counts, in seconds.
    static let lifetime = 8
    /// After how long it is given again, in nanoseconds.
    static let renewal: UInt64 = 2_000_000_000

    /// The name of this process.
    let id: ReplyID
    private let renewedAt = Lock<UInt64?>(nil)

    init(id: ReplyID) {
        self.id = id
    }

    /// The name as a parameter.
    var parameter: Parameter { .uuid(high: id.high, low: id.low) }

    /// The query that renews the lease, if it is time to at `now` nanoseconds of the monotonic clock.
    func renewal(at now: UInt64) -> Query? {
        let isDue = renewedAt.withLock { $0.map { now &- $0 >= Self.renewal } ?? true }
        return isDue ? Query(ConversationStatements.renewLease, parameter, .int8(Self.lifetime)) : nil
    }

    /// Notes that the lease was renewed by a query sent at `now`.
    func renewed(at now: UInt64) {
        renewedAt.withLock { $0 = max($0 ?? 0, now) }
    }
}
