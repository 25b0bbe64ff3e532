/// What a peer may write in the place of a count.
public struct PeerNumber: Sendable, CustomStringConvertible {
    /// The JSON text.
    public let text: String
    /// The count that every reader takes; `nil` if the text is treated as not given.
    public let count: Int?

    public var description: String { text }

    /// Counts, and the texts that have ended processes or could.
    public static let all =
        ([0, 5, 1 << 53] as [Int]).map { (number: Int) in PeerNumber(text: "\(number)", count: number) }
        + [
            "-1", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
            "-9223372036854775809", "18446744073709551616", String(repeating: "9", count: 400), "1e308", "1e999",
            "-1e308",
            "1.5", "\"5\"", "null", "true", "[5]", "{\"5\":5}",
        ].map { PeerNumber(text: $0, count: nil) }
}
