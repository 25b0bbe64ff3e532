/// A type as it is written.
struct TypeSyntax {
    indirect enum Form {
        case named(String)
        case optional(TypeSyntax)
        case array(TypeSyntax)
        /// A type whose values no model generates, and its name for people.
        case other(String)
    }

    let text: String
    let form: Form
    /// The words of the type.
    let words: [String]

    /// The type of the values that are not `nil`.
    var wrapped: TypeSyntax {
        if case .optional(let type) = form { type } else { self }
    }

    /// The expression for the type itself: `String.self`.
    var metatype: String {
        switch form {
        case .named, .array: "\(text).self"
        case .optional, .other: "(\(text)).self"
        }
    }

    /// Reads the type of the tokens `range`.
    init(_ source: SourceText, _ range: Range<Int>) {
        let range = range.clamped(to: source.tokens.indices)
        text = source[range]
        words = range.filter(source.isWord).map { source[$0] }
        form = Self.form(source, range)
    }

    private static func form(_ source: SourceText, _ range: Range<Int>) -> Form {
        guard !range.isEmpty else { return .named("") }
        let first = source[range.lowerBound]
        let last = source[range.upperBound - 1]
        if range.contains(where: { source[$0] == "-" && source[$0 + 1] == ">" && source.depth(of: $0, in: range) == 0 })
        {
            return .other("a function")
        }
        if first == "any" || first == "some" { return .other("a type that is not known") }
        if first == "@" || first == "~" || first == "inout" { return .other("a type with attributes") }
        if range.contains(where: { source[$0] == "&" }) { return .other("a type that is not known") }
        if last == "!" { return .other("an implicitly unwrapped optional; write “?”") }
        if last == "?" {
            return .optional(TypeSyntax(source, range.lowerBound..<range.upperBound - 1))
        }
        if first == "[", source.end(ofBracketAt: range.lowerBound) == range.upperBound {
            let inside = range.lowerBound + 1..<range.upperBound - 1
            if inside.contains(where: { source[$0] == ":" && source.depth(of: $0, in: inside) == 0 }) {
                return .other("a dictionary; write a structure with its members, or an array of structures")
            }
            return .array(TypeSyntax(source, inside))
        }
        if first == "(", source.end(ofBracketAt: range.lowerBound) == range.upperBound {
            let inside = range.lowerBound + 1..<range.upperBound - 1
            let elements = source.elements(of: inside)
            guard elements.count == 1, source[inside.lowerBound + 1] != ":" else {
                return .other("a tuple; write a structure")
            }
            return TypeSyntax(source, inside).form
        }
        return generic(source, range) ?? .named(source[range])
    }

    /// `Optional<T>`, `Array<T>`, `Dictionary<K, V>` and `Set<T>`.
    private static func generic(_ source: SourceText, _ range: Range<Int>) -> Form? {
        var start = range.lowerBound
        if source[start] == "Swift", source[start + 1] == "." { start += 2 }
        guard source[start + 1] == "<", source.end(ofGenericsAt: start + 1) == range.upperBound else { return nil }
        let inside = start + 2..<range.upperBound - 1
        switch source[start] {
        case "Optional": return .optional(TypeSyntax(source, inside))
        case "Array": return .array(TypeSyntax(source, inside))
        case "Set": return .other("a set; write an array")
        case "Dictionary":
            return .other("a dictionary; write a structure with its members, or an array of structures")
        default: return nil
        }
    }
}

extension SourceText {
    /// The number of brackets around a token, from the beginning of a range on.
    fileprivate func depth(of index: Int, in range: Range<Int>) -> Int {
        var depth = 0
        for position in range.lowerBound..<index {
            switch self[position] {
            case "(", "[", "<": depth += 1
            case ")", "]": depth -= 1
            case ">" where self[position - 1] != "-": depth -= 1
            default: break
            }
        }
        return depth
    }
}
