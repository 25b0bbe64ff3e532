import ChatterdHTTP

/// The limit of every size, count and time that a client controls. Each has one answer when it is exceeded.
public struct Limits: Sendable, Hashable {
    /// The limits of the head of a request: 400, 414 or 431.
    public var head = HeadLimits()
    /// The limits of the body of a request, 32 MiB of data: 400, 413 or 431.
    public var body = BodyLimits()
    /// Time for a head, from its first byte: 408.
    public var headDeadline = Duration.seconds(10)
    /// Time for a body, from the end of its head; each `bodyRate` bytes that arrive add a second: 408.
    public var bodyDeadline = Duration.seconds(60)
    /// The minimum rate of a body that takes longer than its deadline, in bytes a second.
    public var bodyRate = 16 * 1024
    /// Time that a connection may wait for a request, including a handshake: closed silently.
    public var idle = Duration.seconds(75)
    /// Connections of one listener at one time. Further ones wait in the system's queue.
    public var connections = 10_000
    /// Unsent bytes of a streamed response at which more output, also within one turn, cuts the client off.
    public var unsentOutput = 1024 * 1024
    /// Time in which the system accepts no byte of waiting output: cut off.
    public var writeStall = Duration.seconds(30)
    /// Time for the client to close after the last response: closed.
    public var lingering = Duration.seconds(2)
    /// Bytes discarded meanwhile: closed. More than any body, so that a client which is sending a refused one reads the refusal instead
    /// of a reset.
    public var lingeringBytes = 64 * 1024 * 1024

    /// Creates the default limits.
    public init() {}
}
