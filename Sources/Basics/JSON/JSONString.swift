/// A string of a JSON text, where it stands: the bytes between the quotes, escapes and all.
public struct JSONString: Sendable, Equatable {
    /// The bytes between the quotes.
    public let range: Range<Int>

    /// Whether a backslash is among them.
    public let hasEscapes: Bool

    /// Names a string by its place.
    public init(range: Range<Int>, hasEscapes: Bool) {
        self.range = range
        self.hasEscapes = hasEscapes
    }
}
