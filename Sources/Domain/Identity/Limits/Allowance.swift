/// The limits of a principal; `nil` for no limit.
public struct Allowance: Sendable, Hashable {
    /// The highest limit.
    public static let highestLimit = 1_000_000_000_000

    /// Requests in a minute.
    public var requestsPerMinute: Int?
    /// Tokens of prompts and answers in a day (UTC).
    public var tokensPerDay: Int?
    /// Replies at the same time.
    public var concurrentReplies: Int?

    /// Creates limits.
    public init(requestsPerMinute: Int? = nil, tokensPerDay: Int? = nil, concurrentReplies: Int? = nil) {
        self.requestsPerMinute = requestsPerMinute
        self.tokensPerDay = tokensPerDay
        self.concurrentReplies = concurrentReplies
    }

    /// Whether there is no limit.
    public var isUnlimited: Bool { self == Allowance() }
}
