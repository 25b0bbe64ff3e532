/// How a pool is, at a moment.
public struct PostgresHealth: Sendable {
    /// Connections that stand.
    public let connections: Int
    /// Batches on their way.
    public let inFlight: Int
    /// Batches that wait for a connection.
    public let waiting: Int
    /// Why the last connection broke or could not be made, until one stands; for the log.
    public let lastError: PostgresError?

    /// Whether a batch would be sent at once.
    public var isConnected: Bool { connections > 0 }
}
