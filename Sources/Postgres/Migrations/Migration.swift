/// One step of the schema.
public struct Migration: Sendable {
    /// The name, which gives the order and is the key in the table of applied migrations: `0001_conversations`.
    public let name: String
    /// One or more SQL statements; they run in one transaction, and hold no `BEGIN` or `COMMIT`.
    public let sql: String

    public init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }
}
