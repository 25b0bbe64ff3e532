/// A key that signs client tokens.
public struct StoredSigningKey: Sendable {
    /// The name of the key, `kid`.
    public let id: String
    /// The seed of Ed25519.
    public let seed: [UInt8]
}
