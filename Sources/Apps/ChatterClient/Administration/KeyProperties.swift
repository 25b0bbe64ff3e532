/// The properties of a new key.
public struct KeyProperties: Sendable, Hashable, Encodable {
    /// The app that it belongs to.
    public var app: String
    /// A note for people.
    public var label: String?
    /// `chat`, `read`, `tokens`, `admin`; `nil` for the first three.
    public var scopes: [String]?
    /// `nil` for all models.
    public var models: [String]?
    /// The lifetime in seconds; `nil` for no end.
    public var expiresIn: Int?
    /// The limits of the key with all its tokens; `nil` for none.
    public var requestsPerMinute: Int?
    public var tokensPerDay: Int?
    public var concurrentReplies: Int?

    public init(app: String) {
        self.app = app
    }
}
