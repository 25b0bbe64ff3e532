import ChatterdBasics

/// The attempts of one stream: the delays so far, and their limit.
struct Retries: Sendable {
    private let policy: RetryPolicy
    private var backoff: Backoff
    private var waited = Duration.zero
    /// Whether the server has accepted the request, so that a longer timeout holds.
    var hasBegun = false

    init(_ policy: RetryPolicy) {
        self.policy = policy
        backoff = Backoff(first: policy.first, longest: policy.longest)
    }

    /// Forgets the failures, after progress.
    mutating func succeed() {
        backoff.reset()
        waited = .zero
    }

    /// The delay before the next attempt.
    ///
    /// - Throws: the error, if it does not pass by itself, or has lasted too long.
    mutating func next(after error: ChatterError) throws(ChatterError) -> Duration {
        let limit = hasBegun ? policy.resumption : policy.start
        guard error.isPassing, waited < limit else { throw error }
        let delay = min(backoff.next(), limit - waited)
        waited += delay
        return delay
    }
}
