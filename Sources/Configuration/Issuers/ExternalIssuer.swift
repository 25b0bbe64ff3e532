import ChatterdBasics

/// An issuer whose tokens an app accepts; `sub` becomes the person.
public struct ExternalIssuer: Sendable, Hashable {
    /// The source of the issuer's public keys.
    public enum Keys: Sendable, Hashable {
        /// They are fetched.
        case url(KeySetURL)
        /// They are in a file.
        case file(String)
    }

    /// The name of the app.
    public let app: String
    /// The issuer, as in the claim `iss`.
    public let issuer: String
    /// The app's name at the issuer, as in the claim `aud`.
    public let audience: String
    /// The source of the public keys.
    public let keys: Keys
    /// The algorithms that the issuer may use; not empty.
    public let algorithms: Set<SignatureAlgorithm>
}
