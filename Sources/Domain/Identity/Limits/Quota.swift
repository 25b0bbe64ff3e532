/// The rest of the limits of a principal after a request; `nil` for a quantity without a limit.
public struct Quota: Sendable, Hashable {
    /// The state of one limit.
    public struct Level: Sendable, Hashable {
        public let maximum: Int
        public let remaining: Int
        /// Seconds until the whole of it is there again.
        public let reset: Int

        public init(maximum: Int, remaining: Int, reset: Int) {
            self.maximum = maximum
            self.remaining = remaining
            self.reset = reset
        }
    }

    /// Requests in a minute.
    public var requests: Level?
    /// Tokens in a day (UTC).
    public var tokens: Level?

    /// Creates a quota.
    public init(requests: Level? = nil, tokens: Level? = nil) {
        self.requests = requests
        self.tokens = tokens
    }
}
