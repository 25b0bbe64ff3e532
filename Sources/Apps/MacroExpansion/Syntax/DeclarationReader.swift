/// Reads the declaration of a type: its name, and the members that a model generates.
struct DeclarationReader {
    /// Words that may stand before the keyword of a declaration.
    static let modifiers: Set<String> = [
        "public", "package", "internal", "fileprivate", "private", "open", "static", "class", "final", "lazy", "weak",
        "unowned", "mutating", "nonmutating", "nonisolated", "isolated", "indirect", "override", "required",
        "convenience", "dynamic", "optional", "borrowing", "consuming", "sending", "distributed", "prefix", "postfix",
        "infix",
    ]
    private static let keywords: Set<String> = [
        "let", "var", "case", "func", "init", "deinit", "subscript", "struct", "enum", "class", "actor", "protocol",
        "extension", "typealias", "import",
    ]

    let source: SourceText
    var index = 0
    var declaration: TypeDeclaration

    /// Reads a declaration.
    ///
    /// - Throws: the fault that makes the whole of it useless; others are in `faults`.
    static func read(_ text: String) throws(SyntaxFault) -> (TypeDeclaration, SourceText) {
        let source = SourceText(text)
        guard source.isBalanced else { throw SyntaxFault(message: "a bracket is missing", offset: 0) }
        var reader = try DeclarationReader(source)
        try reader.readMembers()
        return (reader.declaration, source)
    }

    /// Reads the head, up to `{`.
    private init(_ source: SourceText) throws(SyntaxFault) {
        self.source = source
        var index = 0
        let lead = Lead(source, &index)
        let kind: TypeDeclaration.Kind
        switch source[index] {
        case "struct": kind = .structure
        case "enum": kind = .enumeration
        default:
            throw SyntaxFault(
                message: "@Generable is for structures and enumerations; write a structure with what a model generates",
                offset: source.offset(of: index))
        }
        let name = source[index + 1]
        index += 2
        if source[index] == "<" { index = source.end(ofGenericsAt: index) }
        var inherited: [String] = []
        while source[index] != "{", index < source.tokens.count {
            if source[index] == "where" { break }
            inherited.append(source[index])
            index += 1
        }
        while source[index] != "{", index < source.tokens.count { index += 1 }
        declaration = TypeDeclaration(
            kind: kind, name: name, access: lead.modifiers.first { $0 == "public" || $0 == "package" },
            isPrivate: lead.modifiers.contains("private"),
            hasDefaultAccess: lead.modifiers.isDisjoint(
                with: ["public", "package", "internal", "fileprivate", "private"]),
            inherited: inherited)
        self.index = index + 1
    }

    func fault(_ message: String, at index: Int) -> SyntaxFault {
        SyntaxFault(message: message, offset: source.offset(of: index))
    }

    // MARK: - Members

    private mutating func readMembers() throws(SyntaxFault) {
        while index < source.tokens.count, source[index] != "}" {
            let lead = Lead(source, &index)
            switch source[index] {
            case "let", "var": readProperty(lead)
            case "case": readCases(lead)
            case "#": try skipFreestandingMacro()
            case "typealias": skipTypeAlias()
            case ";": index += 1
            default: skipBody()
            }
        }
    }

    /// Skips a function, an initialiser, a type.
    private mutating func skipBody() {
        while index < source.tokens.count, source[index] != "{" {
            index = ["(", "["].contains(source[index]) ? source.end(ofBracketAt: index) : index + 1
        }
        index = source.end(ofBracketAt: index)
    }

    private mutating func skipTypeAlias() {
        while index < source.tokens.count, source[index] != "=" { index += 1 }
        index = endOfType(from: index + 1)
    }

    private mutating func skipFreestandingMacro() throws(SyntaxFault) {
        if ["if", "elseif", "else", "endif"].contains(source[index + 1]) {
            throw fault(
                "@Generable cannot read members in #if, because a macro does not know which ones are compiled; "
                    + "put the condition around the type", at: index)
        }
        index += 2
        while source[index] == "." { index += 2 }
        if source[index] == "(" { index = source.end(ofBracketAt: index) }
    }

    // MARK: - Types and values

    /// The index after a type.
    func endOfType(from start: Int) -> Int {
        var index = start
        while ["@", "inout", "any", "some", "borrowing", "consuming", "sending", "~"].contains(source[index]) {
            index += source[index] == "@" ? 2 : 1
        }
        switch source[index] {
        case "(", "[": index = source.end(ofBracketAt: index)
        default: index += 1
        }
        while index < source.tokens.count {
            switch source[index] {
            case "<" where source.isAdjacent(index): index = source.end(ofGenericsAt: index)
            case "?" where source.isAdjacent(index), "!" where source.isAdjacent(index): index += 1
            case ".": index += 2
            case "&": index = endOfType(from: index + 1)
            case "async", "throws", "rethrows":
                index += 1
                if source[index] == "(" { index = source.end(ofBracketAt: index) }
            case "-" where source[index + 1] == ">": index = endOfType(from: index + 2)
            default: return index
            }
        }
        return index
    }

    /// The index after an expression: at a comma, the block of an observer, or the next member.
    func endOfExpression(from start: Int) -> Int {
        var index = start
        while index < source.tokens.count {
            let text = source[index]
            if text == "," || text == ";" || text == "}" { return index }
            if index > start, source.tokens[index].isFirstOfLine, beginsMember(at: index) { return index }
            index = ["(", "[", "{"].contains(text) ? source.end(ofBracketAt: index) : index + 1
        }
        return index
    }

    /// Whether a token at the beginning of a line begins a member, and does not continue an expression.
    private func beginsMember(at index: Int) -> Bool {
        let before = source.tokens[index - 1]
        if before.kind == .symbol, !")]}?!>".contains(source[index - 1]) { return false }
        let text = source[index]
        return text == "@" || text == "#" || Self.keywords.contains(text) || Self.modifiers.contains(text)
    }
}
