/// Random numbers that are the same in each run (SplitMix64), and texts made of them.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// Bytes on which JSON texts turn.
    static let punctuation = Array("{}[]\",:\\u0d8-e t".utf8)

    private static let scalars: [ClosedRange<UInt32>] = [
        0x20...0x7E, 0x61...0x7A, 0x00...0x1F, 0x22...0x22, 0x5C...0x5C, 0x80...0x7FF, 0x800...0xD7FF, 0xE000...0xFFFF,
        0x10000...0x10FFFF,
    ]

    mutating func text(upTo length: Int) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...length, using: &self) {
            let range = Self.scalars[Int.random(in: 0..<Self.scalars.count, using: &self)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &self)) { text.append(scalar) }
        }
        return String(text)
    }

    mutating func json(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &self) {
        case 0: return "null"
        case 1: return "true"
        case 2: return String(Int.random(in: -1000...1000, using: &self))
        case 3: return ["0.5", "-1.25e2", "1E3", "0"][Int.random(in: 0..<4, using: &self)]
        case 4, 5:
            return [#""""#, #""a\n""#, #""\u0041é""#, #""\ud83d\ude00\\""#, #""x y z 1 2 3""#][
                Int.random(in: 0..<5, using: &self)]
        case 6:
            return "["
                + (0..<Int.random(in: 0...3, using: &self)).map { _ in json(depth: depth - 1) }.joined(separator: ", ")
                + "]"
        default:
            return "{"
                + (0..<Int.random(in: 0...3, using: &self)).map { "\"k\($0)\":" + json(depth: depth - 1) }.joined(
                    separator: ",") + "}"
        }
    }
}
