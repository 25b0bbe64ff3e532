import ChatterdBasics
import ChatterdSockets

/// The limits that a connection's state looks at, one for all connections.
final class Timing: Sendable {
    /// What may be left unsent for a response to count as delivered: less than a system buffers for a connection.
    static let settledOutput = 64 * 1024
    /// What may come from a client while its response is made or sent: the connection is cut off beyond it. Reading is paused
    /// meanwhile, so that a client cannot reach it; one read of the shard is as long.
    static let heldInput = 64 * 1024

    let headDeadline: Duration
    let bodyDeadline: Duration
    /// The time that each byte of a body adds to its deadline, which is never later than `bodyDeadline` from now.
    let bodyByte: Duration
    let idle: Duration
    let writeStall: Duration
    let lingering: Duration
    let lingeringBytes: Int

    init(_ limits: Limits) {
        headDeadline = limits.headDeadline
        bodyDeadline = limits.bodyDeadline
        bodyByte = Duration.seconds(1) / max(1, limits.bodyRate)
        idle = limits.idle
        writeStall = limits.writeStall
        lingering = limits.lingering
        lingeringBytes = limits.lingeringBytes
    }
}
