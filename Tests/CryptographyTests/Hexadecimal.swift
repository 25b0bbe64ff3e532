import ChatterdBasics

/// Bytes as hexadecimal digits, as RFCs write them.
enum Hexadecimal {
    /// The bytes of digits; white space is ignored.
    static func bytes(_ text: String) -> [UInt8] {
        let digits = text.utf8.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The digits of bytes.
    static func text(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
