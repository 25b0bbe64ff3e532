/// The properties of a new client token.
public struct TokenProperties: Sendable, Hashable, Encodable {
    /// An opaque name of a person or an install; `nil` for the app itself.
    public var person: String?
    /// The names that the token permits; `nil` for all.
    public var conversations: [String]?
    public var models: [String]?
    /// `chat` and `read`; `nil` for those of the key.
    public var scopes: [String]?
    /// The limits of the person; `nil` for those of the key.
    public var requestsPerMinute: Int?
    public var tokensPerDay: Int?
    public var concurrentReplies: Int?
    /// The lifetime in seconds; `nil` for 15 minutes.
    public var expiresIn: Int?

    public init(person: String? = nil) {
        self.person = person
    }
}
