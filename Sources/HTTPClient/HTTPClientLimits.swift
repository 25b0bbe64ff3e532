import ChatterdHTTP

/// What a client spends on its servers.
public struct HTTPClientLimits: Sendable, Hashable {
    /// The head of a response.
    public var head = HeadLimits()
    /// Chunk framing and trailers of a body; its data has no limit here.
    public var body = BodyLimits.streamed
    /// Interim responses (1xx) before the final one.
    public var interimHeads = 8
    /// The time until a connection stands: name, every address, TLS.
    public var connect = Duration.seconds(5)
    /// How long the addresses of a name are used before it is looked up again.
    public var addressLifetime = Duration.seconds(30)
    /// Idle connections kept for each origin; the oldest is closed when there is one more.
    public var idleConnections = 32
    /// How long a connection is kept without work.
    public var idleTime = Duration.seconds(60)
    /// Whether link-local addresses may be connected to, where clouds keep the keys of their machines.
    public var allowsLinkLocal = false

    /// The defaults.
    public init() {}
}
