/// The address of PostgreSQL and the limits of a pool.
public struct PostgresConfiguration: Sendable {
    /// Host, database, role, and other options of libpq.
    public var target: ConnectionTarget
    /// The maximum number of connections of one pool.
    public var connections = 4
    /// The maximum number of unanswered batches on one connection; behind a pooler it is 1. Further batches wait for the first connection
    /// that is free.
    public var pipelineDepth = 16
    /// The maximum number of unanswered and waiting batches in one pool. Further batches are `overloaded`.
    public var maximumWaiting = 1_000
    /// The timeout of a batch that was sent. Its connection is then closed.
    ///
    /// The server stops a statement a little earlier by itself (`statement_timeout`).
    public var timeLimit: Duration = .seconds(10)
    /// The timeout of a batch that waits for a connection. After an outage of this length, batches fail at once.
    public var connectionTimeout: Duration = .seconds(2)
    /// Records what keeps the pool from storing. Pools of one process share it.
    public var health = PoolHealth()
    /// Called on the shard when a batch ends, with the time since it came and its error. It must not block.
    public var onBatchEnd: @Sendable (Duration, PostgresError?) -> Void = { _, _ in }
    /// Logs a failure or notice that reaches no caller: one line, without secrets or stored data.
    public var log: @Sendable (String) -> Void = { _ in }

    /// Creates a configuration with the default limits.
    public init(target: ConnectionTarget) {
        self.target = target
    }
}
