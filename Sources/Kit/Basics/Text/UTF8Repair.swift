/// Validates UTF-8 and repairs other bytes (Unicode 16, section 3.9, table 3-7).
public enum UTF8Repair {
    /// Whether all bytes are UTF-8.
    public static func isValid(_ bytes: Span<UInt8>) -> Bool {
        firstInvalid(in: bytes) == nil
    }

    /// The index of the first byte that is not part of a well-formed sequence.
    public static func firstInvalid(in bytes: Span<UInt8>, from start: Int = 0) -> Int? {
        var index = start
        while true {
            index = firstNonASCII(in: bytes, from: index)
            // Characters outside of ASCII are rarely single, so this loop runs until the next ASCII byte.
            while index < bytes.count, bytes[index] >= 0x80 {
                let length = sequenceLength(in: bytes, at: index)
                if length < 0 { return index }
                index += length
            }
            if index == bytes.count { return nil }
        }
    }

    @inline(__always)
    private static func firstNonASCII(in bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index &+ 8 <= bytes.count {
            let word = bytes.word(at: index)
            let marks = word & 0x8080_8080_8080_8080
            if marks != 0 {
                return index &+ marks.trailingZeroBitCount >> 3
            }
            index &+= 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    /// The length of the well-formed sequence that begins with the byte at `index`, which is not ASCII. For an ill-formed one, the
    /// length of its maximal subpart, at least 1, as a negative number.
    static func sequenceLength(in bytes: Span<UInt8>, at index: Int) -> Int {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[index] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return -1
        }
        guard index + 1 < bytes.count, second.contains(bytes[index + 1]) else { return -1 }
        var taken = 2
        while taken < length {
            guard index + taken < bytes.count, bytes[index + taken] & 0xC0 == 0x80 else { return -taken }
            taken += 1
        }
        return length
    }
}

extension ByteBuffer {
    /// Appends bytes as UTF-8: each maximal subpart of an ill-formed sequence becomes one U+FFFD.
    public mutating func append(repairingUTF8 bytes: Span<UInt8>) {
        var start = 0
        while let fault = UTF8Repair.firstInvalid(in: bytes, from: start) {
            append(bytes.extracting(start..<fault))
            append("\u{FFFD}")
            start = fault - UTF8Repair.sequenceLength(in: bytes, at: fault)
        }
        append(bytes.extracting(start..<bytes.count))
    }
}
