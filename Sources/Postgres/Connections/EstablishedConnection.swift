/// An open connection that belongs to no pool yet.
struct EstablishedConnection: Sendable {
    /// The connection, still blocking.
    let connection: BlockingConnection
    /// Whether the connection owns its session: `BlockingConnection.ownsSession`.
    let ownsSession: Bool
}
