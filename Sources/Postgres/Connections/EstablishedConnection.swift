/// A connection that stands, on its way to a pool.
struct EstablishedConnection: Sendable {
    /// The connection, still blocking.
    let connection: BlockingConnection
    /// Whether the server's session is its own: `BlockingConnection.ownsSession`.
    let ownsSession: Bool
}
