/// Growing waits between attempts, from 0.1 s to 5 s, each shortened at random by up to half.
struct Backoff {
    private(set) var failures = 0

    /// Notes a failure, and returns how long to wait.
    mutating func next() -> Duration {
        let full = min(5_000, 100 << min(failures, 6))
        failures += 1
        return .milliseconds(Int.random(in: full / 2...full))
    }

    /// Begins anew.
    mutating func reset() {
        failures = 0
    }
}
