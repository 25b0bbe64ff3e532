import ChatterdBasics
import ChatterdSockets

/// The limits of `ConnectionState`; one for all connections.
final class Timing: Sendable {
    /// The unsent bytes at which a response counts as delivered: fewer than a system buffers for a connection.
    static let settledOutput = 64 * 1024
    /// The limit of bytes that arrive while a response is made or sent; the connection is cut off beyond it. Reading is paused
    /// meanwhile, so that a client cannot reach the limit: one read of the shard has at most this length.
    static let heldInput = 64 * 1024

    let headDeadline: Duration
    let bodyDeadline: Duration
    /// The time by which each byte of a body extends its deadline, up to `bodyDeadline` from now.
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
