import ChatterdBasics

extension Backoff {
    /// The delays between attempts to connect, from 0.1 s to 2 s.
    ///
    /// They stay short, because a process that reconnects must renew its lease before another one considers it dead.
    static var connecting: Backoff { Backoff(first: .milliseconds(100), longest: .seconds(2)) }

    /// Counts a failure.
    ///
    /// - Returns: the delay before the next attempt, shortened at random by up to half, so that processes do not reconnect in step.
    mutating func nextShortened() -> Duration {
        let full = Int64(next().nanoseconds)
        return .nanoseconds(Int64.random(in: full / 2...full))
    }
}
