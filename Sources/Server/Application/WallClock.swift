import Glibc

/// The time of day.
enum WallClock {
    /// Seconds since 1970.
    @Sendable static func seconds() -> Int64 { Int64(time(nil)) }

    /// Nanoseconds since 1970.
    @Sendable static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
