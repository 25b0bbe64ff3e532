import ChatterdBasics

/// Random numbers that are the same in every run with the same seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var numbers: SplitMix64

    /// Creates a generator from a seed.
    public init(seed: UInt64) {
        numbers = SplitMix64(seed: seed)
    }

    /// The next 64 random bits.
    public mutating func next() -> UInt64 { numbers.next() }

    /// A text of any scalars: all planes, combining marks, line separators, quotes, controls; NUL only on request.
    public mutating func text(upTo length: Int, withNUL: Bool = false) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...length, using: &self) {
            text.append(scalar(withNUL: withNUL))
        }
        return String(text)
    }

    /// The pieces of `bytes`, cut at random positions; none is empty.
    public mutating func pieces(of bytes: [UInt8], upTo largest: Int) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + Int.random(in: 1...max(1, largest), using: &self))
            pieces.append(Array(bytes[start..<end]))
            start = end
        }
        return pieces
    }

    private mutating func scalar(withNUL: Bool) -> Unicode.Scalar {
        let nasty: [Unicode.Scalar] = [
            "\"", "\\", "/", "\n", "\r", "\t", "\u{8}", "\u{c}", "\u{1b}", "\u{7f}", "\u{85}", "\u{a0}", "\u{ad}",
            "\u{300}",
            "\u{200d}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffd}", "\u{ffff}", "\u{1f600}", "\u{1f1fa}",
            "\u{10ffff}",
            "<", "&", ":", "\u{1}",
        ]
        while true {
            let value: UInt32
            switch Int.random(in: 0..<6, using: &self) {
            case 0, 1: value = UInt32.random(in: 0x20..<0x7f, using: &self)
            case 2: return nasty[Int.random(in: 0..<nasty.count, using: &self)]
            case 3: value = UInt32.random(in: 0x80..<0x800, using: &self)
            case 4: value = UInt32.random(in: 0x800..<0x10000, using: &self)
            default: value = UInt32.random(in: (withNUL ? 0 : 1)..<0x110000, using: &self)
            }
            if let scalar = Unicode.Scalar(value) { return scalar }
        }
    }
}
