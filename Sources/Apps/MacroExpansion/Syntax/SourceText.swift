/// Swift source with its tokens.
struct SourceText {
    private let bytes: [UInt8]
    let tokens: [Token]

    init(_ text: String) {
        bytes = Array(text.utf8)
        tokens = Lexer.tokens(of: bytes)
    }

    /// The source of a token; empty behind the last one.
    subscript(index: Int) -> String {
        tokens.indices.contains(index) ? String(decoding: bytes[tokens[index].range], as: UTF8.self) : ""
    }

    /// The source of tokens, with what is between them.
    subscript(range: Range<Int>) -> String {
        let range = range.clamped(to: tokens.indices)
        guard let first = tokens[range].first, let last = tokens[range].last else { return "" }
        return String(decoding: bytes[first.range.lowerBound..<last.range.upperBound], as: UTF8.self)
    }

    /// The byte at which a token begins; that of the last one for an index behind it.
    func offset(of index: Int) -> Int {
        (tokens.indices.contains(index) ? tokens[index] : tokens.last)?.range.lowerBound ?? 0
    }

    func isWord(_ index: Int) -> Bool { tokens.indices.contains(index) && tokens[index].kind == .word }

    /// Whether each bracket has its counterpart. Source that is being written may lack some.
    var isBalanced: Bool {
        var closing: [String] = []
        for index in tokens.indices {
            switch self[index] {
            case "(": closing.append(")")
            case "[": closing.append("]")
            case "{": closing.append("}")
            case ")", "]", "}": guard closing.popLast() == self[index] else { return false }
            default: break
            }
        }
        return closing.isEmpty
    }

    /// Whether there is nothing between a token and the one before.
    func isAdjacent(_ index: Int) -> Bool {
        tokens.indices.contains(index) && index > 0
            && tokens[index - 1].range.upperBound == tokens[index].range.lowerBound
    }

    /// The index after the bracket that closes the one at `index`.
    func end(ofBracketAt index: Int) -> Int {
        var depth = 0
        var index = index
        repeat {
            switch self[index] {
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            default: break
            }
            index += 1
        } while depth > 0 && index < tokens.count
        return index
    }

    /// The index after the `>` that closes the `<` at `index`.
    func end(ofGenericsAt index: Int) -> Int {
        var depth = 0
        var index = index
        repeat {
            switch self[index] {
            case "<": depth += 1
            case ">" where self[index - 1] != "-": depth -= 1
            case "(", "[":
                index = end(ofBracketAt: index)
                continue
            default: break
            }
            index += 1
        } while depth > 0 && index < tokens.count
        return index
    }

    /// The ranges between commas that are not in brackets.
    func elements(of range: Range<Int>) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        var start = range.lowerBound
        var index = start
        while index < range.upperBound {
            switch self[index] {
            case "(", "[", "{": index = end(ofBracketAt: index)
            case "<" where isAdjacent(index) && tokens[index - 1].kind == .word: index = end(ofGenericsAt: index)
            case ",":
                elements.append(start..<index)
                index += 1
                start = index
            default: index += 1
            }
        }
        if start < range.upperBound { elements.append(start..<range.upperBound) }
        return elements
    }
}
