import ChatterdBasics

/// The database's time of day, which all processes share: readings of it, continued with the monotonic clock of this machine.
///
/// It is never ahead of the database, so a credential that is made before a revocation is never dated after it. It is behind by at most the
/// time that a reading takes.
struct DatabaseClock {
    /// The time of day at the start of the monotonic clock, in microseconds since 1970; `nil` before the first reading.
    private var origin: Int64?

    /// Adds a reading, in microseconds since 1970, that was made between two instants.
    mutating func add(_ reading: Int64, between began: Instant, and ended: Instant) {
        let least = reading - ended.microseconds
        let greatest = reading - began.microseconds
        // What all readings agree on stays, so a slow one makes the clock no worse.
        if let origin, least <= origin, origin <= greatest { return }
        origin = least
    }

    /// The time of day in seconds since 1970; `nil` before the first reading.
    func seconds(at now: Instant) -> Int64? {
        origin.map { ($0 + now.microseconds) / 1_000_000 }
    }
}

extension Instant {
    fileprivate var microseconds: Int64 { Int64(nanoseconds / 1_000) }
}
