/// What a person types until it is complete. A line that ends with a backslash continues with the next one. Lines between `"""` and `"""` are
/// one text.
struct SessionInput {
    private static let quote = "\"\"\""

    private var text = ""
    private var isQuoted = false

    /// Whether no line was typed yet.
    var isEmpty: Bool { text.isEmpty && !isQuoted }

    /// Adds a line, which has line ends if it was pasted.
    ///
    /// - Returns: the whole text, if the line ends it.
    mutating func add(_ line: String) -> String? {
        var line = line
        if isEmpty, line.trimmed.hasPrefix(Self.quote) {
            isQuoted = true
            line = String(line.trimmed.dropFirst(Self.quote.count))
        }
        if isQuoted {
            guard line.hasSuffix(Self.quote) else {
                text += line + "\n"
                return nil
            }
            return text + line.dropLast(Self.quote.count)
        }
        guard line.hasSuffix("\\") else { return text + line }
        text += line.dropLast() + "\n"
        return nil
    }
}
