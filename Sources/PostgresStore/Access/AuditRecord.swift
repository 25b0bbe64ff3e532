/// An entry of the audit log as the table has it.
public struct AuditRecord: Sendable {
    public let id: Int
    /// In seconds since 1970.
    public let at: Int64
    public let actor: String
    public let action: String
    public let app: String?
    public let subject: String
}
