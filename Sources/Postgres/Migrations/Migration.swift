import ChatterdSockets
import Dispatch
import Glibc

/// One step of the schema.
public struct Migration: Sendable {
    /// Its place in the order, and its key in the table of what was applied: `0001_conversations`.
    public let name: String
    /// One or more SQL statements; they run in one transaction, and hold no `BEGIN` or `COMMIT`.
    public let sql: String

    /// Makes a migration.
    public init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }
}
