extension Span<UInt8> {
    /// The index of the first CR or LF at or after `start`; `nil` if there is none.
    ///
    /// It searches eight bytes at a time for both. Two searches would take quadratic time in a text that contains only one of them.
    func firstLineEnd(from start: Int) -> Int? {
        withUnsafeBytes { bytes -> Int? in
            var index = start
            while index + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let hits = zeroBytes(word ^ 0x0A0A_0A0A_0A0A_0A0A) | zeroBytes(word ^ 0x0D0D_0D0D_0D0D_0D0D)
                if hits != 0 {
                    return index + hits.trailingZeroBitCount / 8
                }
                index += 8
            }
            while index < bytes.count {
                if bytes[index] == Grammar.lineFeed || bytes[index] == Grammar.carriageReturn {
                    return index
                }
                index += 1
            }
            return nil
        }
    }
}

/// Marks the lowest zero byte with its top bit; higher bytes may be marked in error.
@inline(__always)
private func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
}
