/// Growing waits between attempts, from 0.1 s to 2 s, each shortened at random by up to half.
///
/// Two seconds at most: a process that comes back must renew its lease before another one takes it for dead.
struct Backoff {
    private(set) var failures = 0

    /// Notes a failure, and returns how long to wait.
    mutating func next() -> Duration {
        let full = min(2_000, 100 << min(failures, 5))
        failures += 1
        return .milliseconds(Int.random(in: full / 2...full))
    }

    /// Begins anew.
    mutating func reset() {
        failures = 0
    }
}
