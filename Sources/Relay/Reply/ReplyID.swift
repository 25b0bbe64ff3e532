/// The name of a reply: a random UUID (RFC 9562, version 4).
public struct ReplyID: Sendable, Hashable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// Makes a name from its halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a name from 122 random bits.
    public init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & 0xffff_ffff_ffff_0fff | 0x4000
        low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    }

    /// Half of the random bits are more than a table needs.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }
}
