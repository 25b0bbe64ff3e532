import CChatterdOpenSSL

/// A SHA-256 digest (FIPS 180-4).
///
/// The time of a comparison does not depend on the digests.
public struct SHA256Digest: Sendable, Hashable {
    /// The number of bytes.
    public static let size = 32

    /// The first eight bytes.
    public let first: UInt64
    /// The next eight bytes.
    public let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// Computes the digest of bytes.
    public init(of bytes: Span<UInt8>) {
        var words = InlineArray<4, UInt64>(repeating: 0)
        withUnsafeMutableBytes(of: &words) { words in
            bytes.withUnsafeBufferPointer { bytes in
                copenssl_sha256(
                    bytes.baseAddress, bytes.count, words.baseAddress?.assumingMemoryBound(to: UInt8.self))
            }
        }
        first = UInt64(bigEndian: words[0])
        second = UInt64(bigEndian: words[1])
        third = UInt64(bigEndian: words[2])
        fourth = UInt64(bigEndian: words[3])
    }

    /// The digest with certain bytes; `nil` unless they are 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.init(words: bytes)
    }

    private init(words bytes: [UInt8]) {
        first = Self.word(bytes, at: 0)
        second = Self.word(bytes, at: 8)
        third = Self.word(bytes, at: 16)
        fourth = Self.word(bytes, at: 24)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        [first, second, third, fourth].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        }
    }

    /// Whether two digests are equal.
    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        (left.first ^ right.first) | (left.second ^ right.second) | (left.third ^ right.third)
            | (left.fourth ^ right.fourth) == 0
    }

    private static func word(_ bytes: [UInt8], at index: Int) -> UInt64 {
        (index..<index + 8).reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
    }
}
