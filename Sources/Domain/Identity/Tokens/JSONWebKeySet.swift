import ChatterdBasics

/// The public keys of an issuer (JWKS, RFC 7517, section 5).
public struct JSONWebKeySet: Sendable, Hashable {
    /// The limit of the text, in bytes.
    public static let maximumSize = 256 << 10
    /// The limit of keys, those that chatterd does not use included.
    public static let maximumKeys = 64
    /// The limit of a number or a point in a key, in characters of base64url: enough for a modulus of 8,192 bits.
    public static let maximumMemberLength = 1_400

    /// The keys that chatterd can use, in the order of the text.
    public let keys: [JSONWebKey]
    /// The number of keys that chatterd does not use: of other kinds, algorithms or uses, without a name, or malformed.
    public let ignoredKeys: Int

    /// Parses a set.
    ///
    /// - Throws: `tooLarge`, `malformed`.
    public init(parsing text: [UInt8]) throws(TokenError) {
        guard text.count <= Self.maximumSize else { throw .keySetTooLarge }
        guard let object = try? BoundedObject(text), let all = try? object.elements("keys", atMost: Self.maximumKeys)
        else {
            throw .malformedKeySet
        }
        guard all.count <= Self.maximumKeys else { throw .keySetTooLarge }
        keys = all.compactMap { JSONWebKey($0) }
        ignoredKeys = all.count - keys.count
    }

    /// The key for a token: the first one with its `kid` and of its algorithm; `nil` if there is none.
    public func key(for token: JSONWebToken) -> JSONWebKey? {
        keys.first { ExactText($0.keyID) == ExactText(token.keyID) && $0.algorithm == token.algorithm }
    }
}
