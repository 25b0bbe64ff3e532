import ChatterdHTTP

/// The limits of a client.
public struct HTTPClientLimits: Sendable, Hashable {
    /// The limits of the head of a response.
    public var head = HeadLimits()
    /// The limits of the chunk framing and trailers of a body. Its data has no limit here.
    public var body = BodyLimits.streamed
    /// The maximum number of interim responses (1xx) before the final one.
    public var interimHeads = 8
    /// The timeout of a connection: name look-up, every address, TLS.
    public var connect = Duration.seconds(5)
    /// The time after which a name is looked up again.
    public var addressLifetime = Duration.seconds(30)
    /// The maximum number of idle connections for each origin. The oldest is closed for a new one.
    public var idleConnections = 32
    /// The time after which an idle connection is closed.
    public var idleTime = Duration.seconds(60)
    /// Whether the client connects to link-local addresses, where clouds serve the keys of their machines.
    public var allowsLinkLocal = false
    /// Whether the client connects to addresses that are not public (`SocketAddress.isPublic`): those of this machine and of its networks.
    public var allowsPrivate = true

    /// The defaults.
    public init() {}
}
