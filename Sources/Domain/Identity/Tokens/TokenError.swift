/// The reason why a token, a signed link or a set of keys is refused.
public struct TokenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The closed set of reasons.
    public enum Code: String, Sendable, CaseIterable {
        /// The text is longer than its limit.
        case tooLarge = "too_large"
        /// The text has not the form of a token, or a member has not its type or exceeds its limit.
        case malformed
        /// The token is encrypted (RFC 7516).
        case encrypted
        /// The token requires an extension (`crit`, RFC 7515, section 4.1.11).
        case criticalExtension = "critical_extension"
        /// The algorithm is `none`, unknown, or not that of the key.
        case wrongAlgorithm = "wrong_algorithm"
        /// The token is made for another purpose (`typ`).
        case wrongType = "wrong_type"
        /// The token does not name its key.
        case missingKeyID = "missing_key_id"
        /// No key has the name.
        case unknownKey = "unknown_key"
        /// The signature is not that of the key.
        case wrongSignature = "wrong_signature"
        /// The token has no end.
        case missingExpiry = "missing_expiry"
        /// The end has come.
        case expired
        /// The time of `nbf` has not come.
        case notYetValid = "not_yet_valid"
        /// The token is from another issuer.
        case wrongIssuer = "wrong_issuer"
        /// The token is made for another audience.
        case wrongAudience = "wrong_audience"
        /// The token names no person.
        case missingPerson = "missing_person"
        /// The name of an app, a person, a conversation or a model breaks the rules of names.
        case invalidName = "invalid_name"
    }

    /// The reason for machines.
    public let code: Code
    /// The reason for the user: a sentence without any text of the token.
    public let message: String

    private init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the sentence.
    public var description: String { "\(code.rawValue): \(message)" }
}

extension TokenError {
    /// A token beyond its limit.
    public static let tooLarge = TokenError(
        .tooLarge, "The token is longer than \(JSONWebToken.maximumLength) bytes. Get one with fewer claims.")
    /// A text that is no token.
    public static let malformed = TokenError(.malformed, "The credential is not a JSON Web Token.")
    /// An encrypted token.
    public static let encrypted = TokenError(.encrypted, "The token is encrypted. Send a token that is only signed.")
    /// A token with `crit`.
    public static let criticalExtension = TokenError(
        .criticalExtension, "The token requires an extension (crit), and chatterd has none.")
    /// Another algorithm.
    public static let wrongAlgorithm = TokenError(
        .wrongAlgorithm, "The token is not signed with the algorithm of its key. EdDSA, ES256 and RS256 are accepted.")
    /// Another `typ`.
    public static let wrongType = TokenError(
        .wrongType, "The token is made for another purpose (typ). Send one of the type JWT.")
    /// No `kid`.
    public static let missingKeyID = TokenError(
        .missingKeyID,
        "The token does not name its key (kid), or the name is longer than \(JSONWebToken.maximumKeyIDLength) bytes.")
    /// An unknown `kid`.
    public static let unknownKey = TokenError(
        .unknownKey, "The key of the token is not among the keys of its issuer. Get a new token.")
    /// Another signature.
    public static let wrongSignature = TokenError(
        .wrongSignature, "The signature of the token is wrong. Get a new token.")
    /// No `exp`.
    public static let missingExpiry = TokenError(.missingExpiry, "The token has no end (exp). Get one that expires.")
    /// A token after its end.
    public static let expired = TokenError(.expired, "The token has expired. Get a new token.")
    /// A token before `nbf`.
    public static let notYetValid = TokenError(
        .notYetValid, "The token is not valid yet (nbf). Compare the clocks of its issuer and of chatterd.")
    /// Another `iss`.
    public static let wrongIssuer = TokenError(.wrongIssuer, "The token is not from an issuer (iss) of this app.")
    /// Another `aud`.
    public static let wrongAudience = TokenError(
        .wrongAudience, "The token is made for another audience (aud) than this app.")
    /// No `sub`.
    public static let missingPerson = TokenError(.missingPerson, "The token names no person (sub).")
    /// Names that break the rules.
    public static let invalidName = TokenError(
        .invalidName,
        "The token has a name of an app, a person, a conversation or a model that is empty, too long, or has control "
            + "characters.")

    /// A member with another type, or beyond its limit. `name` is a name of chatterd's, not a text of the token.
    static func malformed(_ name: StaticString) -> TokenError {
        TokenError(.malformed, "The member \(name) of the token has a wrong type, or is too long or too large.")
    }

    /// A link beyond its limit.
    static let linkTooLarge = TokenError(.tooLarge, "The signed link is longer than \(SignedLink.maximumLength) bytes.")
    /// A text that is no link.
    static let malformedLink = TokenError(.malformed, "The text is not a signed link of chatterd. Get a new link.")
    /// A link after its end.
    static let expiredLink = TokenError(.expired, "The signed link has expired. Get a new link.")

    /// A set of keys beyond its limits.
    static let keySetTooLarge = TokenError(
        .tooLarge,
        "The set of keys (JWKS) is larger than \(JSONWebKeySet.maximumSize) bytes, or has more than \(JSONWebKeySet.maximumKeys) keys."
    )
    /// A text that is no set of keys.
    static let malformedKeySet = TokenError(
        .malformed, "The text is not a set of keys (JWKS): a JSON object with the list keys.")
}
