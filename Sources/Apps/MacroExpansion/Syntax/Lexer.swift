/// Divides Swift source into tokens. The compiler has parsed the source before, so it is well formed.
struct Lexer {
    private let bytes: [UInt8]
    private var index = 0
    private var tokens: [Token] = []
    private var isFirstOfLine = true

    static func tokens(of bytes: [UInt8]) -> [Token] {
        var lexer = Lexer(bytes)
        while lexer.skipSpace() { lexer.readToken() }
        return lexer.tokens
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private func byte(at index: Int) -> UInt8? { bytes.indices.contains(index) ? bytes[index] : nil }

    private func holds(_ text: StaticString, at start: Int) -> Bool {
        start + text.utf8CodeUnitCount <= bytes.count
            && (0..<text.utf8CodeUnitCount).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
    }

    // MARK: - Space

    /// Skips white space and comments.
    ///
    /// - Returns: whether a token follows.
    private mutating func skipSpace() -> Bool {
        while let byte = byte(at: index) {
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                isFirstOfLine = true
                index += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), 0x0B, 0x0C: index += 1
            case UInt8(ascii: "/") where holds("//", at: index):
                while let byte = self.byte(at: index), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
                    index += 1
                }
            case UInt8(ascii: "/") where holds("/*", at: index): skipComment()
            default: return true
            }
        }
        return false
    }

    /// Skips a comment in `/* */`, and the comments in it.
    private mutating func skipComment() {
        var depth = 0
        repeat {
            if holds("/*", at: index) {
                depth += 1
                index += 2
            } else if holds("*/", at: index) {
                depth -= 1
                index += 2
            } else {
                if bytes[index] == UInt8(ascii: "\n") { isFirstOfLine = true }
                index += 1
            }
        } while depth > 0 && index < bytes.count
    }

    // MARK: - Tokens

    private mutating func readToken() {
        let start = index
        let kind: Token.Kind
        switch bytes[index] {
        case UInt8(ascii: "`"):
            index += 1
            skip { $0 != UInt8(ascii: "`") }
            index += 1
            kind = .word
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            skipNumber()
            kind = .number
        case let byte where byte.isWord:
            skip(while: \.isWord)
            kind = .word
        case UInt8(ascii: "\""):
            skipString(pounds: 0)
            kind = .string
        case UInt8(ascii: "#"): kind = skipPound()
        case UInt8(ascii: "/") where beginsRegex && skipRegex(): kind = .regex
        default:
            index += 1
            kind = .symbol
        }
        index = min(index, bytes.count)
        tokens.append(Token(kind: kind, range: start..<index, isFirstOfLine: isFirstOfLine))
        isFirstOfLine = false
    }

    private mutating func skip(while condition: (UInt8) -> Bool) {
        while let byte = byte(at: index), condition(byte) { index += 1 }
    }

    private mutating func skipNumber() {
        let isHexadecimal = holds("0x", at: index)
        while let byte = byte(at: index) {
            let isPoint = byte == UInt8(ascii: ".") && self.byte(at: index + 1)?.isDigit == true
            let isSign =
                (byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"))
                && bytes[index - 1] | 0x20 == (isHexadecimal ? UInt8(ascii: "p") : UInt8(ascii: "e"))
            guard byte.isWord || isPoint || isSign else { return }
            index += 1
        }
    }

    /// Skips a raw string, an extended regular expression, or a `#` alone.
    private mutating func skipPound() -> Token.Kind {
        var pounds = 0
        while byte(at: index + pounds) == UInt8(ascii: "#") { pounds += 1 }
        switch byte(at: index + pounds) {
        case UInt8(ascii: "\""):
            index += pounds
            skipString(pounds: pounds)
            return .string
        case UInt8(ascii: "/"):
            index += pounds + 1
            while index < bytes.count, !(bytes[index] == UInt8(ascii: "/") && hasPounds(pounds, at: index + 1)) {
                index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            index += 1 + pounds
            return .regex
        default:
            index += 1
            return .symbol
        }
    }

    private func hasPounds(_ count: Int, at start: Int) -> Bool {
        (start..<start + count).allSatisfy { byte(at: $0) == UInt8(ascii: "#") }
    }

    /// Skips a string from its first quotation mark on, with the `#` after it.
    private mutating func skipString(pounds: Int) {
        let quotes = holds("\"\"\"", at: index) ? 3 : 1
        index += quotes
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\"")
            where (quotes == 1 || holds("\"\"\"", at: index)) && hasPounds(pounds, at: index + quotes):
                index += quotes + pounds
                return
            case UInt8(ascii: "\\") where hasPounds(pounds, at: index + 1):
                index += 1 + pounds
                if byte(at: index) == UInt8(ascii: "(") {
                    skipInterpolation()
                } else {
                    index += 1
                }
            default: index += 1
            }
        }
    }

    /// Skips the tokens from `(` to its `)`.
    private mutating func skipInterpolation() {
        var inside = Lexer(bytes)
        inside.index = index
        var depth = 0
        while inside.skipSpace() {
            inside.readToken()
            guard let token = inside.tokens.last, token.kind == .symbol else { continue }
            if bytes[token.range.lowerBound] == UInt8(ascii: "(") { depth += 1 }
            if bytes[token.range.lowerBound] == UInt8(ascii: ")") { depth -= 1 }
            if depth == 0 { break }
        }
        index = inside.index
    }

    /// Whether a `/` here may begin a regular expression: it does not divide anything.
    private var beginsRegex: Bool {
        guard let next = byte(at: index + 1), next != UInt8(ascii: " "), next != UInt8(ascii: "\t") else {
            return false
        }
        guard let last = tokens.last else { return true }
        let text = bytes[last.range]
        switch last.kind {
        case .symbol: return !(text.first.map { ")]}".utf8.contains($0) } ?? false)
        case .word:
            return ["return", "in", "case", "where", "if", "try", "await"].contains { text.elementsEqual($0.utf8) }
        case .number, .string, .regex: return false
        }
    }

    /// Skips `/…/`.
    ///
    /// - Returns: `false` if no `/` follows in the line; then nothing is skipped.
    private mutating func skipRegex() -> Bool {
        var end = index + 1
        while let byte = byte(at: end), byte != UInt8(ascii: "/") {
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { return false }
            end += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end < bytes.count else { return false }
        index = end + 1
        return true
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// Whether the byte may be in an identifier.
    fileprivate var isWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "$"), 0x80...:
            true
        default: isDigit
        }
    }
}
