import CChatterdSystem
import ChatterdBasics
import Dispatch
import Glibc
import Synchronization

/// What a descriptor has become ready for (bits of `epoll_wait(2)`).
public struct Readiness: OptionSet, Sendable {
    /// The bits of `struct epoll_event`.
    public let rawValue: UInt32

    /// Makes the set of some bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// There is something to read.
    public static let readable = Readiness(rawValue: 0x1)
    /// There is room to write.
    public static let writable = Readiness(rawValue: 0x4)
    /// The descriptor has an error to fetch.
    public static let failed = Readiness(rawValue: 0x8)
    /// Both directions have ended.
    public static let hangUp = Readiness(rawValue: 0x10)
    /// The peer has ended its direction.
    public static let peerClosed = Readiness(rawValue: 0x2000)
}
