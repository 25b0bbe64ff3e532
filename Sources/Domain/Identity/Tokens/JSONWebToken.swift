import ChatterdBasics

/// A signed token in its compact form (JWS, RFC 7515, section 7.1) with a JSON object of claims (JWT, RFC 7519).
///
/// It is parsed, and neither its signature nor its claims are checked: find the key by `issuer` and `keyID`, compare `algorithm` with that
/// of the key (`require`), verify `signature` over `signingInput`, and check the claims with `TokenRequirements`. Keys in the header
/// (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
public struct JSONWebToken: Sendable, Hashable {
    /// The limit of the text, in bytes.
    public static let maximumLength = 8 << 10
    /// The limit of `kid`, in bytes.
    public static let maximumKeyIDLength = 128

    /// `alg`: the algorithm of the signature.
    public let algorithm: SignatureAlgorithm
    /// `kid`: the name of the key.
    public let keyID: String
    /// The registered claims.
    public let claims: TokenClaims
    /// The JSON object of all claims.
    public let payload: [UInt8]
    /// The bytes that are signed.
    public let signingInput: [UInt8]
    /// The signature.
    public let signature: [UInt8]

    /// Parses a token.
    ///
    /// - Throws: `tooLarge`, `malformed`, `encrypted`, `criticalExtension`, `wrongAlgorithm`, `wrongType`, `missingKeyID`.
    public init(parsing text: String) throws(TokenError) {
        let parts = try Self.parts(of: text)
        guard let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        (algorithm, keyID) = try Self.header(try BoundedObject(header))
        guard !signature.isEmpty else { throw .malformed }
        claims = try TokenClaims(try BoundedObject(payload))
        self.payload = payload
        self.signature = signature
        signingInput = Array(text.utf8.dropLast(parts[2].utf8.count + 1))
    }

    /// The issuer that a text claims to be from, if it has the form of a token at all, even with a header that `init` refuses.
    public static func claimedIssuer(of text: String) -> String? {
        guard let parts = try? parts(of: text), let payload = Base64URL.decode(parts[1]),
            let object = try? BoundedObject(payload)
        else { return nil }
        return (try? object.text("iss", upTo: TokenClaims.maximumTextLength)) ?? nil
    }

    /// Throws `wrongAlgorithm` unless the token names an algorithm.
    public func require(_ algorithm: SignatureAlgorithm) throws(TokenError) {
        guard self.algorithm == algorithm else { throw .wrongAlgorithm }
    }

    /// The three parts of a text.
    private static func parts(of text: String) throws(TokenError) -> [Substring] {
        guard text.utf8.count <= maximumLength else { throw .tooLarge }
        let parts = text.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
        // RFC 7516 9: an encrypted token has five parts.
        guard parts.count != 5 else { throw .encrypted }
        guard parts.count == 3 else { throw .malformed }
        return parts.map(Substring.init)
    }

    private static func header(_ header: BoundedObject) throws(TokenError) -> (SignatureAlgorithm, String) {
        guard !header.has("enc") else { throw .encrypted }
        guard !header.has("crit") else { throw .criticalExtension }
        guard let name = try header.text("alg", upTo: 64), let algorithm = SignatureAlgorithm(word: name) else {
            throw .wrongAlgorithm
        }
        // RFC 8725 3.11: a token of another type, such as a logout token, is no credential.
        if let type = try header.text("typ", upTo: 64) {
            guard ["jwt", "at+jwt", "application/at+jwt"].contains(type.lowercased()) else { throw .wrongType }
        }
        guard let keyID = try? header.text("kid", upTo: maximumKeyIDLength), !keyID.isEmpty else { throw .missingKeyID }
        return (algorithm, keyID)
    }
}
