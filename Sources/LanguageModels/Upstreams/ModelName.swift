/// The rules for names of models.
///
/// Every line of an answer, the database and the log repeat the name, so it is short.
public enum ModelName {
    /// The maximum length of a name, in bytes of UTF-8.
    public static let maximumLength = 256

    /// Whether a text is a valid name: 1 to `maximumLength` bytes without control characters.
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
