import ChatterdBasics
import ChatterdSockets

/// The limits that a connection's state looks at, in nanoseconds and bytes; one for all connections.
final class Timing: Sendable {
    /// What may be left unsent for a response to count as delivered: less than a system buffers for a connection.
    static let settledOutput = 64 * 1024
    /// What may come from a client while its response is made or sent: the connection is cut off beyond it. Reading is paused
    /// meanwhile, so that a client cannot reach it; one read of the shard is as long.
    static let heldInput = 64 * 1024

    let headDeadline: UInt64
    let bodyDeadline: UInt64
    /// Nanoseconds that each byte of a body adds to its deadline, which is never later than `bodyDeadline` from now.
    let bodyByte: UInt64
    let idle: UInt64
    let writeStall: UInt64
    let lingering: UInt64
    let lingeringBytes: Int

    init(_ limits: Limits) {
        headDeadline = limits.headDeadline.nanoseconds
        bodyDeadline = limits.bodyDeadline.nanoseconds
        bodyByte = 1_000_000_000 / UInt64(max(1, limits.bodyRate))
        idle = limits.idle.nanoseconds
        writeStall = limits.writeStall.nanoseconds
        lingering = limits.lingering.nanoseconds
        lingeringBytes = limits.lingeringBytes
    }
}
