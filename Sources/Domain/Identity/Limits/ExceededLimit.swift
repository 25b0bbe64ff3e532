/// The limit that refused a request.
public struct ExceededLimit: Sendable, Hashable {
    /// The limits of a principal; the raw values are the names for clients and for the store.
    public enum Name: String, Sendable, CaseIterable {
        case requestsPerMinute = "requests_per_minute"
        case tokensPerDay = "tokens_per_day"
        case concurrentReplies = "concurrent_replies"
    }

    public let name: Name
    /// Whether it is a limit of the owner (of a token), and not of the key.
    public let isOwners: Bool
    public let maximum: Int
    public let remaining: Int
    /// Seconds after which there may be room.
    public let reset: Int
    /// The tokens that the request would have reserved.
    public let needed: Int
    /// The state of all limits of the principal.
    public let quota: Quota

    /// Creates an exceeded limit.
    public init(
        _ name: Name, isOwners: Bool, maximum: Int, remaining: Int, reset: Int, needed: Int, quota: Quota
    ) {
        self.name = name
        self.isOwners = isOwners
        self.maximum = maximum
        self.remaining = remaining
        self.reset = reset
        self.needed = needed
        self.quota = quota
    }

    /// The sentence for the user.
    public var message: String {
        let subject = isOwners ? "token" : "key"
        return switch name {
        case .requestsPerMinute:
            "The limit of \(maximum) requests per minute of this \(subject) is reached. Try again in \(reset) s."
        case .tokensPerDay:
            "The limit of \(maximum) tokens per day of this \(subject) is reached: \(remaining) are left until midnight UTC, and "
                + "this request reserves \(needed). A smaller num_predict or max_tokens reserves fewer."
        case .concurrentReplies:
            "This \(subject) may have \(maximum) replies at once, and has them. Wait for the end of one, or stop one."
        }
    }
}
