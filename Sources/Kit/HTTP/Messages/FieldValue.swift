/// The value of a field, RFC 9110 section 5.5: no control bytes, no white space at its ends.
///
/// A literal that violates the rule stops the program; `init(validating:)` checks any other text.
public struct FieldValue: Sendable, Hashable {
    public let text: String

    /// Creates a value from any text; `nil` if a field cannot hold it.
    public init?(validating text: String) {
        guard FieldValue.isValid(text) else { return nil }
        self.text = text
    }

    /// Creates a value of a number.
    public init(_ number: Int) {
        text = String(number)
    }

    init(checked text: String) {
        self.text = text
    }

    private static func isValid(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { isValid($0.span) }
    }

    private static func isValid(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices where !Grammar.isTextByte(bytes[index]) { return false }
        guard let last = bytes.indices.last else { return true }
        return !Grammar.isBlank(bytes[0]) && !Grammar.isBlank(bytes[last])
    }
}

extension FieldValue: ExpressibleByStringLiteral {
    /// Creates a value of a literal, which must be one.
    public init(stringLiteral literal: String) {
        precondition(FieldValue.isValid(literal), "a literal that no field can hold")
        text = literal
    }
}
