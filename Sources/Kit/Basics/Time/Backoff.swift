/// The delays between retries. Each delay is twice the one before, up to a limit.
public struct Backoff: Sendable {
    /// The delay after the first failure.
    public let first: Duration
    /// The limit of a delay.
    public let longest: Duration
    /// The number of failures since the start or the last reset.
    public private(set) var failures = 0

    /// The limit of the exponent: 2^20 times the first delay.
    private static let maximumDoublings = 20

    /// Creates a back-off without failures.
    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// Counts a failure, and returns the delay before the next attempt.
    public mutating func next() -> Duration {
        defer { failures += 1 }
        return delay
    }

    /// The delay that `next()` returns.
    public var delay: Duration { min(first * (1 << min(failures, Self.maximumDoublings)), longest) }

    /// Sets the number of failures to zero, after a success.
    public mutating func reset() {
        failures = 0
    }
}
