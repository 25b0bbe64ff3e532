/// The operations that a descriptor became ready for: bits of `epoll_wait(2)`.
public struct Readiness: OptionSet, Sendable {
    /// The bits of `struct epoll_event`.
    public let rawValue: UInt32

    /// Creates a set of bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Bytes or an end can be read.
    public static let readable = Readiness(rawValue: 0x1)
    /// Bytes can be written.
    public static let writable = Readiness(rawValue: 0x4)
    /// The descriptor has an error.
    public static let failed = Readiness(rawValue: 0x8)
    /// Both directions have ended.
    public static let hangUp = Readiness(rawValue: 0x10)
    /// The peer has ended its direction.
    public static let peerClosed = Readiness(rawValue: 0x2000)
}
