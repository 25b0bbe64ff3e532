import ChatterdConfiguration

/// The commands that need the rest of the server. Tests replace them.
public struct CommandActions: Sendable {
    /// Serves until a signal ends it; returns the exit code. Reports its failures itself.
    public var serve: @Sendable (_ configuration: Configuration, _ isDevelopment: Bool) async -> Int32
    /// Migrates; returns the exit code. Reports its failures itself.
    public var migrate: @Sendable (_ configuration: Configuration, _ request: MigrateRequest) async -> Int32
    /// Runs `chatterd keys`; returns the exit code. Reports its failures itself.
    public var keys: @Sendable (_ configuration: Configuration, _ request: KeysRequest) async -> Int32
    /// Checks the database: reachable, of a fitting version, writable, migrated.
    public var checkDatabase: @Sendable (_ configuration: Configuration) async -> [Doctor.Check]

    /// Creates a set of actions.
    public init(
        serve: @escaping @Sendable (_ configuration: Configuration, _ isDevelopment: Bool) async -> Int32,
        migrate: @escaping @Sendable (_ configuration: Configuration, _ request: MigrateRequest) async -> Int32,
        keys: @escaping @Sendable (_ configuration: Configuration, _ request: KeysRequest) async -> Int32,
        checkDatabase: @escaping @Sendable (_ configuration: Configuration) async -> [Doctor.Check]
    ) {
        self.serve = serve
        self.migrate = migrate
        self.keys = keys
        self.checkDatabase = checkDatabase
    }
}
