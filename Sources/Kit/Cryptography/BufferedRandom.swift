/// Unpredictable numbers, whose bytes are generated a block at a time. A class, because a copy would repeat numbers.
public final class BufferedRandom: RandomNumberGenerator {
    /// The size of a block, in bytes.
    private static let blockSize = 4096

    private var block: [UInt8] = []
    private var used = 0

    public init() {}

    /// The next number. The program stops if the system has no randomness.
    public func next() -> UInt64 {
        if used == block.count {
            block = SecureRandom.bytes(Self.blockSize)
            used = 0
        }
        defer { used += 8 }
        return block.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: used, as: UInt64.self) }
    }
}
