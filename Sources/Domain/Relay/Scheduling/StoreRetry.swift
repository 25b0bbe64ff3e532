import ChatterdBasics

/// The retries of one call while the store is unavailable.
struct StoreRetry {
    private var start: Instant?
    private var backoff = Backoff(first: .milliseconds(50), longest: .seconds(1))

    /// Creates the retries of a call that began at `start`; `nil` counts from the first failure.
    init(since start: Instant? = nil) {
        self.start = start
    }

    /// The delay before the next attempt.
    ///
    /// - Returns: `nil` if the error is not `storeUnavailable`, or the time is over.
    mutating func delay(after error: RelayError, within timeout: Duration, now: Instant) -> Duration? {
        guard error.code == .storeUnavailable else { return nil }
        let left = timeout - (now - (start ?? now))
        guard left > .zero else { return nil }
        start = start ?? now
        return min(backoff.next(), left)
    }
}
