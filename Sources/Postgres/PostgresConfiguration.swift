/// Where PostgreSQL is, and the limits of a pool.
public struct PostgresConfiguration: Sendable {
    /// Host, database, role, and what libpq adds to them.
    public var target: ConnectionTarget
    /// The connections of one pool, at most.
    public var connections = 4
    /// The batches on their way on one connection, at most; more wait for whichever connection is free first.
    public var pipelineDepth = 16
    /// The batches on their way or waiting in one pool, at most; more are `overloaded`.
    public var maximumWaiting = 1_000
    /// How long a batch may take once it is sent; then its connection is given up.
    ///
    /// The server stops a statement a little earlier by itself (`statement_timeout`).
    public var timeLimit: Duration = .seconds(10)
    /// How long a batch waits for a connection, and how long an outage may last until batches fail at once.
    public var connectionTimeout: Duration = .seconds(2)
    /// Told of failures and notices that no caller hears of: one line each, without secrets or stored data.
    public var log: @Sendable (String) -> Void = { _ in }

    /// Makes a configuration with the default limits.
    public init(target: ConnectionTarget) {
        self.target = target
    }
}
