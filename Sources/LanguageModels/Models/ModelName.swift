/// What a model may be called.
///
/// The name stands in every line of an answer, in the database and in the log, so it is short.
public enum ModelName {
    /// The bytes that a name may have, in UTF-8.
    public static let maximumLength = 256

    /// Whether a text is a name: 1 to `maximumLength` bytes, and no control characters.
    public static func isValid(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumLength && !text.hasControlCharacters
    }
}

extension String {
    /// Whether the text holds a control character (Unicode category Cc): a line end, NUL, DEL and the like.
    var hasControlCharacters: Bool {
        unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }
    }
}
