/// One of 256 parts into which the ids of replies divide the owners, so that a reply can be located among several databases.
public struct Partition: Sendable, Hashable {
    /// The number of the part.
    public let number: UInt8

    /// The part of an owner: all conversations of an owner, and so its lists, are in one part.
    public init(of owner: Owner) {
        // FNV-1a, 64 bits: stable across processes and versions, unlike Hasher.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in owner.keyPrefix.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        number = UInt8(truncatingIfNeeded: hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24 ^ hash >> 32)
    }

    public init(number: UInt8) {
        self.number = number
    }
}
