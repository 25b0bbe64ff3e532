/// A text that is compared by its bytes, as PostgreSQL compares names. Swift's `String` counts texts as equal that have the same characters
/// in different Unicode scalars (Unicode Standard Annex 15).
public struct ExactText: Sendable, Hashable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
