import ChatterdIdentity

/// A revocation as the table has it.
public struct RevocationRecord: Sendable {
    public let revision: Int
    /// `nil` for a kind of a later version.
    public let revocation: Revocation?
    /// In seconds since 1970.
    public let at: Int64
}
