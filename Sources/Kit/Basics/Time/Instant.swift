/// A point of the monotonic clock. Its nanoseconds count from an arbitrary start, so it compares only with instants of the same
/// machine and boot.
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the start of the clock.
    public let nanoseconds: UInt64

    /// An instant that never comes.
    @inlinable public static var distantFuture: Instant { Instant(nanoseconds: .max) }

    /// An instant before every reading of the clock.
    @inlinable public static var distantPast: Instant { Instant(nanoseconds: 0) }

    /// Creates an instant from a reading of the clock.
    @inlinable public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether the left instant is before the right one.
    @inlinable public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant after a duration; `distantFuture` if the clock cannot reach it. A negative duration counts as zero.
    @inlinable public static func + (instant: Instant, duration: Duration) -> Instant {
        instant.advanced(byNanoseconds: duration.nanoseconds)
    }

    /// The time from the right instant to the left one; negative if the left one is earlier.
    @inlinable public static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(Int64(bitPattern: left.nanoseconds &- right.nanoseconds))
    }

    /// The instant after `count` nanoseconds; `distantFuture` if the clock cannot reach it.
    ///
    /// `+` divides 128-bit numbers. Code that runs for each token computes the nanoseconds of its durations once, and adds them here.
    @inlinable public func advanced(byNanoseconds count: UInt64) -> Instant {
        let (sum, overflows) = nanoseconds.addingReportingOverflow(count)
        return overflows ? .distantFuture : Instant(nanoseconds: sum)
    }
}
