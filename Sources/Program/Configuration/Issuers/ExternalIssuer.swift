import ChatterdBasics
import ChatterdIdentity

/// An issuer whose tokens an app accepts. The person is the prefix followed by `sub`.
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
    /// A PEM file of authorities for the certificate of the server of the keys, beside those of the system; `nil` for those alone.
    public let authorities: String?
    /// The algorithms that the issuer may use; not empty.
    public let algorithms: Set<SignatureAlgorithm>
    /// The beginning of the names of the issuer's people, so that two issuers of an app do not name the same person.
    public let personPrefix: String
    /// The limits of each person.
    public let allowance: Allowance
}
