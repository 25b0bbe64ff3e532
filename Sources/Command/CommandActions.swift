import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer

/// What the commands need from the rest of the server; tests put in their own.
public struct CommandActions: Sendable {
    /// Serves until a signal ends it; returns the exit code. Tells its own failures.
    public var serve: @Sendable (_ configuration: Configuration, _ isDevelopment: Bool) async -> Int32
    /// Migrates; returns the exit code. Tells its own failures.
    public var migrate: @Sendable (_ configuration: Configuration) async -> Int32
    /// Checks the database: reachable, of a fitting version, writable, migrated.
    public var checkDatabase: @Sendable (_ configuration: Configuration) async -> [Doctor.Check]

    /// Gathers actions.
    public init(
        serve: @escaping @Sendable (_ configuration: Configuration, _ isDevelopment: Bool) async -> Int32,
        migrate: @escaping @Sendable (_ configuration: Configuration) async -> Int32,
        checkDatabase: @escaping @Sendable (_ configuration: Configuration) async -> [Doctor.Check]
    ) {
        self.serve = serve
        self.migrate = migrate
        self.checkDatabase = checkDatabase
    }
}
