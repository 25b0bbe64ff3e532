import ChatterdIdentity

/// A revocation as the table has it.
public struct RevocationRecord: Sendable {
    public let revision: Int
    /// `nil` for a kind of a later version.
    public let revocation: Revocation?
    /// In whole seconds since 1970, rounded down.
    public let at: Int64
    /// When the session of the revocation would have expired, in seconds since 1970; `nil` for other kinds.
    public let expiresAt: Int64?
}
