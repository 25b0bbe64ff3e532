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
