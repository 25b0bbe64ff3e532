import ChatterdBasics

/// What a person types until it is complete. A line that ends with a backslash continues with the next one. Lines between `"""` and `"""` are
/// one prompt, and so are pasted lines.
struct SessionInput {
    private static let quote = "\"\"\""

    private var text = ""
    private var isQuoted = false

    /// Whether no line was typed yet.
    var isEmpty: Bool { text.isEmpty && !isQuoted }

    /// Adds a line, which has line ends if it was pasted.
    ///
    /// - Returns: what all lines say, if this one is the last.
    mutating func add(_ line: String) -> SessionCommand? {
        var line = line
        let isPasted = line.contains("\n")
        if isEmpty, !isPasted, line.trimmed.hasPrefix(Self.quote) {
            isQuoted = true
            line = String(line.trimmed.dropFirst(Self.quote.count))
        }
        if isQuoted {
            guard line.hasSuffix(Self.quote) else {
                text += line + "\n"
                return nil
            }
            text += line.dropLast(Self.quote.count)
            return text.trimmed.isEmpty ? SessionCommand.none : .prompt(text.trimmedLines)
        }
        guard !isPasted, line.hasSuffix("\\") else { return SessionCommand(text + line) }
        text += line.dropLast() + "\n"
        return nil
    }
}
