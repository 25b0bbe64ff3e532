import ChatterdChat

/// A client's name for a request (`Idempotency-Key`), with the digest of the request's body.
public struct IdempotencyKey: Sendable, Hashable {
    /// The name, as the client sent it.
    public var text: String
    /// SHA-256 of the request's body.
    public var digest: [UInt8]

    public init(text: String, digest: [UInt8]) {
        self.text = text
        self.digest = digest
    }
}
