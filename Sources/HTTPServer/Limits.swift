import ChatterdHTTP

/// Every size, count and wait that a client controls; for each there is one answer when it is hit.
public struct Limits: Sendable, Hashable {
    /// What a request's head may cost: 400, 414 or 431.
    public var head = HeadLimits()
    /// What a request's body may cost, 8 MiB of data: 400, 413 or 431.
    public var body = BodyLimits()
    /// Time for a head, from its first byte: 408.
    public var headDeadline = Duration.seconds(10)
    /// Time for a body, from the end of its head; each `bodyRate` bytes that arrive add a second: 408.
    public var bodyDeadline = Duration.seconds(60)
    /// Bytes a second that a body which outlasts its deadline must keep up.
    public var bodyRate = 16 * 1024
    /// Time that a connection may wait for a request, a handshake included: closed without a word.
    public var idle = Duration.seconds(75)
    /// Connections of one listener at one time: more wait in the system's queue.
    public var connections = 10_000
    /// Unsent bytes of a streamed response at which more output, also within one turn, cuts the client off.
    public var unsentOutput = 1024 * 1024
    /// Time without one byte being taken while output, or the end of it, waits: cut off.
    public var writeStall = Duration.seconds(30)
    /// Time that is left to the client to close after the last response: closed.
    public var lingering = Duration.seconds(2)
    /// Bytes thrown away meanwhile; more than any body, so that a client in the midst of sending one gets to read why it is
    /// refused, instead of a reset: closed.
    public var lingeringBytes = 16 * 1024 * 1024

    /// The defaults.
    public init() {}
}
