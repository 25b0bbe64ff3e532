import ChatterdIdentity

/// A revocation as the table has it.
public struct RevocationRecord: Sendable {
    public let revision: Int
    /// `nil` for a kind of a later version.
    public let revocation: Revocation?
    /// In whole seconds since 1970, rounded down.
    public let at: Int64

    /// Whether the revocation ends the credential of a principal. A person's credentials that were issued later stay valid.
    public func ends(_ principal: Principal) -> Bool {
        revocation.map { principal.isEnded(by: $0, at: at) } ?? false
    }

    /// Whether what a process keeps of a verified credential is out of date.
    public func outdates(_ principal: Principal) -> Bool {
        revocation.map { principal.isOutdated(by: $0, at: at) } ?? false
    }
}
