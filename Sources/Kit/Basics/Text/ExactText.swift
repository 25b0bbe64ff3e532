/// A text that is compared by its bytes, as PostgreSQL compares names. Swift's `String` counts texts as equal that have the same characters
/// in different Unicode scalars (Unicode Standard Annex 15).
public struct ExactText: Sendable, Hashable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public static func == (left: ExactText, right: ExactText) -> Bool {
        var (left, right) = (left.text, right.text)
        guard left.utf8.count == right.utf8.count else { return false }
        return left.withUTF8 { first in right.withUTF8 { second in first.span.isEqual(to: second.span) } }
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // No text has this byte, so that two texts in a row do not equal two others.
        hasher.combine(0xFF as UInt8)
    }
}

extension Dictionary where Key == ExactText {
    /// The value of a text.
    public subscript(_ text: String) -> Value? {
        get { self[ExactText(text)] }
        set { self[ExactText(text)] = newValue }
    }
}
