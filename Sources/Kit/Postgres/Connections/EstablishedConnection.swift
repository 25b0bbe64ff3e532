import ChatterdBasics

/// An open connection that no pool has yet.
struct EstablishedConnection {
    /// The connection, still blocking.
    let connection: BlockingConnection
    /// Whether the connection owns its session: `BlockingConnection.ownsSession`.
    let ownsSession: Bool
    /// The instant at which the pool asked for the connection.
    let begun: Instant
}
