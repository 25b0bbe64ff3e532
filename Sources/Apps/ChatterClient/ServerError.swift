/// An error that the server reported.
public struct ServerError: Error, Sendable, Hashable {
    /// One of the codes in docs/api.md, or `http_` and the status of a response without one.
    public let code: String
    /// The text for people.
    public let message: String
    /// Whether the same request may succeed later.
    public let isRetryable: Bool
    /// The delay that the server asks for.
    public let retryAfter: Duration?
    /// The reply that was in the way (`conversation_busy`).
    public let reply: ReplyID?

    public init(
        code: String, message: String, isRetryable: Bool, retryAfter: Duration? = nil, reply: ReplyID? = nil
    ) {
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
        self.reply = reply
    }
}
