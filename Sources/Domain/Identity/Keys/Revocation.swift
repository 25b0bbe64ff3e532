/// The end of credentials before their time.
public struct Revocation: Sendable, Hashable {
    /// The kinds of revoked credentials.
    public enum Kind: String, Sendable {
        /// A key of an app, and all tokens, links and sessions made with it.
        case key
        /// All tokens, links and sessions of a person that were issued before.
        case person
        /// One session of a browser.
        case session
        /// No credential: the end of a key has changed, so what processes keep of it and of what was made with it is out of date.
        case expiry
    }

    public let kind: Kind
    /// The id of the key or of the session; of a person the beginning of the keys of the conversations, `Owner.keyPrefix`.
    public let subject: String

    /// The revocation of a key.
    public init(key id: String) {
        kind = .key
        subject = id
    }

    /// The revocation of a person.
    public init(person: Owner) {
        kind = .person
        subject = person.keyPrefix
    }

    /// The change of the end of a key.
    public init(expiryOf key: String) {
        kind = .expiry
        subject = key
    }

    /// The end of a session.
    public init(session id: String) {
        kind = .session
        subject = id
    }

    /// A stored revocation; `nil` for a kind of a later version.
    public init?(kind: String, subject: String) {
        guard let kind = Kind(rawValue: kind) else { return nil }
        self.kind = kind
        self.subject = subject
    }
}
