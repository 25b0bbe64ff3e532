/// The algorithms of signatures of tokens. The raw values are their names in JSON (RFC 7518, section 3.1; RFC 8037, section 3.1).
///
/// The set is closed. It has no algorithm with a shared secret, and `none` is not among them.
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// Ed25519.
    case edDSA = "EdDSA"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
}
