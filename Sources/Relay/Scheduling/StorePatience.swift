/// How long a store that is away is asked again.
struct StorePatience {
    private var start: UInt64?
    private var pause = Duration.milliseconds(50)

    /// How long to wait after a failure before the next attempt; nothing when it is time to give up.
    mutating func pause(after error: RelayError, within limit: Duration, now: UInt64) -> Duration? {
        guard error.code == .storeUnavailable else { return nil }
        let left = limit - .nanoseconds(now &- (start ?? now))
        guard left > .zero else { return nil }
        start = start ?? now
        defer { pause = min(pause * 2, .seconds(1)) }
        return min(pause, left)
    }
}
