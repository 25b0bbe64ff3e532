/// Compresses bytes in the gzip format (RFC 1952), as one block with fixed codes (RFC 1951 3.2.6).
///
/// It is for texts that are compressed once and sent often: small, and a third of their size afterwards.
struct GzipEncoder {
    /// The distance of a match at most (RFC 1951 2).
    private static let window = 32_768
    /// The lengths of a match (RFC 1951 3.2.5).
    private static let lengths = 3...258
    /// The earlier places that are compared for a match.
    private static let comparisons = 24
    private static let hashBits = 14

    private let input: [UInt8]
    private var output: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    private var bits: UInt64 = 0
    private var bitCount: UInt64 = 0
    /// The last place of each hash, and the place before each place with the same hash; -1 for none.
    private var last: [Int]
    private var earlier: [Int]

    private init(_ input: [UInt8]) {
        self.input = input
        last = Array(repeating: -1, count: 1 << Self.hashBits)
        earlier = Array(repeating: -1, count: input.count)
    }

    /// Returns the compressed form.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var encoder = GzipEncoder(bytes)
        encoder.write(bits: 0b011, count: 3)
        var index = 0
        while index < bytes.count {
            let match = encoder.match(at: index)
            if let match {
                encoder.write(length: match.length)
                encoder.write(distance: match.distance)
            } else {
                encoder.write(symbol: Int(bytes[index]))
            }
            for place in index..<index + (match?.length ?? 1) { encoder.remember(place) }
            index += match?.length ?? 1
        }
        encoder.write(symbol: 256)
        encoder.write(bits: 0, count: (8 - encoder.bitCount) % 8)
        encoder.write(number: checksum(of: bytes))
        encoder.write(number: UInt32(truncatingIfNeeded: bytes.count))
        return encoder.output
    }

    // MARK: - Matches

    private func hash(at index: Int) -> Int? {
        guard index + 2 < input.count else { return nil }
        let bytes = UInt32(input[index]) | UInt32(input[index + 1]) << 8 | UInt32(input[index + 2]) << 16
        return Int((bytes &* 0x9E37_79B1) >> (32 - UInt32(Self.hashBits)))
    }

    private mutating func remember(_ index: Int) {
        guard let hash = hash(at: index) else { return }
        earlier[index] = last[hash]
        last[hash] = index
    }

    /// The longest of the nearest matches; `nil` if there is none of three bytes.
    private func match(at index: Int) -> (length: Int, distance: Int)? {
        guard let hash = hash(at: index) else { return nil }
        let limit = min(Self.lengths.upperBound, input.count - index)
        var best: (length: Int, distance: Int)?
        var place = last[hash]
        for _ in 0..<Self.comparisons {
            guard place >= 0, index - place <= Self.window else { break }
            var length = 0
            while length < limit, input[place + length] == input[index + length] { length += 1 }
            if length >= Self.lengths.lowerBound, length > best?.length ?? 0 { best = (length, index - place) }
            place = earlier[place]
        }
        return best
    }

    // MARK: - Codes

    private mutating func write(bits value: Int, count: UInt64) {
        bits |= UInt64(value) << bitCount
        bitCount += count
        while bitCount >= 8 {
            output.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }

    /// A Huffman code, whose highest bit comes first.
    private mutating func write(code: Int, count: UInt64) {
        var reversed = 0
        for bit in 0..<count { reversed |= (code >> bit & 1) << (count - 1 - bit) }
        write(bits: reversed, count: count)
    }

    private mutating func write(symbol: Int) {
        switch symbol {
        case 0...143: write(code: 0x30 + symbol, count: 8)
        case 144...255: write(code: 0x190 + symbol - 144, count: 9)
        case 256...279: write(code: symbol - 256, count: 7)
        default: write(code: 0xC0 + symbol - 280, count: 8)
        }
    }

    /// RFC 1951 3.2.5: the symbols 257 to 285, four for each number of extra bits, but eight without any.
    private mutating func write(length: Int) {
        guard length < Self.lengths.upperBound else {
            write(symbol: 285)
            return
        }
        let rest = length - Self.lengths.lowerBound
        let extra = rest < 8 ? 0 : UInt64((rest.bitWidth - rest.leadingZeroBitCount) - 3)
        write(symbol: 257 + Int(extra) * 4 + rest >> extra)
        write(bits: rest & (1 << extra - 1), count: extra)
    }

    /// RFC 1951 3.2.5: the codes 0 to 29, two for each number of extra bits, but four without any.
    private mutating func write(distance: Int) {
        let rest = distance - 1
        let extra = rest < 4 ? 0 : UInt64((rest.bitWidth - rest.leadingZeroBitCount) - 2)
        write(code: Int(extra) * 2 + rest >> extra, count: 5)
        write(bits: rest & (1 << extra - 1), count: extra)
    }

    private mutating func write(number: UInt32) {
        for shift in stride(from: UInt32(0), to: 32, by: 8) {
            output.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// CRC-32, RFC 1952 8.
    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        var checksum = UInt32.max
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum & 1 == 0 ? checksum >> 1 : checksum >> 1 ^ 0xEDB8_8320 }
        }
        return ~checksum
    }
}
