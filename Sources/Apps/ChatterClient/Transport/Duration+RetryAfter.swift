extension Duration {
    /// The most seconds of a delay that a server asks for: a day.
    private static let longestRetryAfter = 86_400

    /// The delay of the field `Retry-After`, at most a day; `nil` for a number below zero.
    package init?(retryAfter seconds: Int) {
        guard seconds >= 0 else { return nil }
        self = .seconds(min(seconds, Self.longestRetryAfter))
    }
}
