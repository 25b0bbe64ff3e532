/// A point of the monotonic clock, in nanoseconds since an arbitrary start. It compares only with instants of the same machine and
/// boot.
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the start of the clock.
    public let nanoseconds: UInt64

    /// An instant that never comes.
    public static let distantFuture = Instant(nanoseconds: .max)

    /// Creates an instant from a reading of the clock.
    @inlinable public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether an instant is before another one.
    @inlinable public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant after a duration; `distantFuture` if the clock cannot reach it. A negative duration counts as zero.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflows) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflows ? .distantFuture : Instant(nanoseconds: sum)
    }

    /// The time from the right instant to the left one; negative if the left one is earlier.
    public static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(Int64(bitPattern: left.nanoseconds &- right.nanoseconds))
    }
}
