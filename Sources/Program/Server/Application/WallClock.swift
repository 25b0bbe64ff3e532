import Glibc

/// The time of day.
enum WallClock {
    /// Seconds since 1970.
    ///
    /// `time(2)` may lag by a tick of the kernel: a token made just after a second began would have the second of a revocation before it.
    @Sendable static func seconds() -> Int64 { nanoseconds() / 1_000_000_000 }

    /// Nanoseconds since 1970.
    @Sendable static func nanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
