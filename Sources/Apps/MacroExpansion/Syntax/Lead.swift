/// The attributes and modifiers before the keyword of a declaration.
struct Lead {
    private(set) var attributes: [Attribute] = []
    private(set) var modifiers: Set<String> = []

    /// Reads them, and moves `index` behind them.
    init(_ source: SourceText, _ index: inout Int) {
        while index < source.tokens.count {
            if source[index] == "@" {
                attributes.append(Attribute(source, &index))
            } else if DeclarationReader.modifiers.contains(source[index]),
                !(source[index] == "class" && source.isWord(index + 1)
                    && !Self.isKeyword(source[index + 1]))
            {
                modifiers.insert(source[index])
                index += 1
                if source[index] == "(", source.isAdjacent(index) {
                    // `private(set)` is the access of the setter only.
                    if source[index + 1] == "set" { modifiers.remove(source[index - 1]) }
                    index = source.end(ofBracketAt: index)
                }
            } else {
                return
            }
        }
    }

    /// Whether `class` before the word is a modifier.
    private static func isKeyword(_ word: String) -> Bool {
        ["func", "var", "subscript"].contains(word) || DeclarationReader.modifiers.contains(word)
    }

    var isStatic: Bool { modifiers.contains("static") || modifiers.contains("class") }
}

extension Attribute {
    /// Reads an attribute, and moves `index` behind it.
    init(_ source: SourceText, _ index: inout Int) {
        self.index = index
        index += 1
        var name = source[index]
        index += 1
        while source[index] == ".", source.isAdjacent(index) {
            name += "." + source[index + 1]
            index += 2
        }
        self.name = name
        if source[index] == "<", source.isAdjacent(index) { index = source.end(ofGenericsAt: index) }
        guard source[index] == "(", source.isAdjacent(index) else {
            arguments = []
            return
        }
        let end = source.end(ofBracketAt: index)
        arguments = source.elements(of: index + 1..<end - 1).map { range in
            let hasLabel =
                range.count > 1 && source.tokens[range.lowerBound].kind == .word && source[range.lowerBound + 1] == ":"
            return Argument(
                label: hasLabel ? source[range.lowerBound] : nil,
                value: hasLabel ? range.lowerBound + 2..<range.upperBound : range)
        }
        index = end
    }
}
