/// The delays between retries: each one is twice the one before, up to a limit.
public struct Backoff: Sendable {
    /// The delay after the first failure.
    public let first: Duration
    /// The limit of a delay.
    public let longest: Duration
    /// The number of failures since the start or the last reset.
    public private(set) var failures = 0

    /// Creates a back-off without failures.
    public init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// Counts a failure.
    ///
    /// - Returns: the delay before the next attempt.
    public mutating func next() -> Duration {
        defer { failures += 1 }
        return delay
    }

    /// The delay after one more failure.
    public var delay: Duration { min(first * (1 << min(failures, 20)), longest) }

    /// Forgets all failures.
    public mutating func reset() {
        failures = 0
    }
}
