/// Ways to cut bytes into pieces.
enum Cuts {
    /// Every position of short input; for long input, positions at both ends and some between.
    static func halves(of count: Int) -> [Int] {
        guard count > 600 else { return Array(0...count) }
        return Array(0...40) + Array(stride(from: 41, to: count - 40, by: count / 40)) + Array((count - 40)...count)
    }

    /// Between all bytes.
    static func everywhere(in count: Int) -> Range<Int> {
        count > 0 ? 1..<count : 0..<0
    }
}

/// A generator with a seed, so that a failure can be repeated (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Pieces of random length of some bytes.
    mutating func pieces(of bytes: [UInt8], upTo most: Int) -> [ArraySlice<UInt8>] {
        var rest = bytes[...]
        var pieces: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...most, using: &self))
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }
}
