import ChatterdIdentity

/// The id of a reply: a UUID (RFC 9562) of version 8, which begins with the partition of its owner, or of version 4 in rows of earlier
/// versions.
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

    /// Creates an id of version 8: the eight bits of the partition, then 114 random bits.
    public init(in partition: Partition, using generator: inout some RandomNumberGenerator) {
        let random: UInt64 = generator.next()
        high = random & 0x00ff_ffff_ffff_0fff | UInt64(partition.number) << 56 | 0x8000
        low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    }

    /// Creates an id of version 4, from 122 random bits: the id of a process, or of a request without a conversation.
    public init(using generator: inout some RandomNumberGenerator) {
        high = generator.next() & 0xffff_ffff_ffff_0fff | 0x4000
        low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    }

    /// The partition of its owner; `nil` for an id of version 4.
    public var partition: Partition? {
        high & 0xf000 == 0x8000 ? Partition(number: UInt8(truncatingIfNeeded: high >> 56)) : nil
    }

    /// Hashes half of the random bits, which is enough for a table.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }
}
