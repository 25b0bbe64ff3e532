/// The position of a string in a JSON text of less than 4 GiB.
public struct JSONString: Sendable, Equatable {
    // Half the size of a range, because each layer of a token's way copies several positions.
    private let start: UInt32
    private let end: UInt32

    /// Whether the bytes contain a backslash.
    public let hasEscapes: Bool

    /// Creates the position of a string.
    public init(range: Range<Int>, hasEscapes: Bool) {
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
        self.hasEscapes = hasEscapes
    }

    /// The range of the bytes between the quotes, including escapes.
    public var range: Range<Int> { Range(uncheckedBounds: (Int(start), Int(end))) }
}
