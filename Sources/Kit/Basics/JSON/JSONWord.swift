/// Examines eight bytes of text at a time. The lowest byte is the first one in memory.
///
/// A mark is the highest bit of a byte. A borrow may mark bytes above a hit, never below, so that the lowest mark is always correct.
enum JSONWord {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }

    /// The same byte eight times.
    @inline(__always)
    static func repeating(_ byte: UInt8) -> UInt64 {
        ones &* UInt64(byte)
    }

    /// Marks the bytes that a JSON string must escape: quotes, backslashes, control characters (RFC 8259, section 7).
    @inline(__always)
    static func marksToEscape(_ word: UInt64) -> UInt64 {
        let quotes = word ^ repeating(0x22)
        let backslashes = word ^ repeating(0x5C)
        let hits =
            ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
            | ((word &- repeating(0x20)) & ~word)
        return hits & repeating(0x80)
    }

    /// Marks backslashes.
    @inline(__always)
    static func marksOfBackslashes(_ word: UInt64) -> UInt64 {
        let backslashes = word ^ repeating(0x5C)
        return (backslashes &- ones) & ~backslashes & repeating(0x80)
    }

    /// All bits of the bytes before the lowest mark.
    @inline(__always)
    static func bytesBefore(_ marks: UInt64) -> UInt64 {
        (marks & (0 &- marks)) >> 7 &- 1
    }

    /// Whether bytes whose bits were collected in a word are all ASCII.
    @inline(__always)
    static func isASCII(_ bits: UInt64) -> Bool {
        bits & repeating(0x80) == 0
    }
}
