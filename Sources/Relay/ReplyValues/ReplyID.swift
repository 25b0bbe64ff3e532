/// The id of a reply: a random UUID (RFC 9562, version 4).
public struct ReplyID: Sendable, Hashable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// Creates an id from its halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an id from 122 random bits.
    public init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & 0xffff_ffff_ffff_0fff | 0x4000
        low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    }

    /// Hashes half of the random bits, which is enough for a table.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }
}
