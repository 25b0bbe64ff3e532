/// The rules for names of models.
///
/// Every line of an answer, the database and the log repeat the name, so it is short.
public enum ModelName {
    /// The maximum length of a name, in bytes of UTF-8.
    public static let maximumLength = 256

    /// The limit of combining marks in a row in a name that a model server lists: the names of a list are compared, sorted and hashed in a
    /// time that is quadratic in them.
    private static let maximumMarks = 8

    /// Whether a model server may list a name. A request may have any valid one.
    public static func isListable(_ text: String) -> Bool {
        guard isValid(text) else { return false }
        var marks = 0
        for scalar in text.unicodeScalars {
            marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
            guard marks <= maximumMarks else { return false }
        }
        return true
    }

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
