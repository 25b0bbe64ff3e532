/// The position of a string in a JSON text.
public struct JSONString: Sendable, Equatable {
    /// The range of the bytes between the quotes, including escapes.
    public let range: Range<Int>

    /// Whether the bytes contain a backslash.
    public let hasEscapes: Bool

    /// Creates the position of a string.
    public init(range: Range<Int>, hasEscapes: Bool) {
        self.range = range
        self.hasEscapes = hasEscapes
    }
}
