extension Span<UInt8> {
    /// Where a CR or LF first stands at or after `start`.
    ///
    /// Eight bytes at a time, both at once: two searches would cost the square of the length where only one occurs.
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

/// Has the top bit set in the lowest byte that is zero; higher bytes may be marked in error.
@inline(__always)
private func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
}
