/// Reads a regular expression (ECMA-262, section 22.2.1, with the flag `u`).
struct JSONPatternParser {
    private typealias Tree = JSONPattern.Tree

    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var depth = 0
    private(set) var sets: [ScalarSet] = []

    init(_ text: ArraySlice<UInt8>) {
        scalars = Array(String(decoding: text, as: UTF8.self).unicodeScalars)
    }

    /// Reads the whole expression; `nil` if it is malformed or not supported.
    mutating func parse() -> JSONPattern.Tree? {
        guard let tree = choice(), index == scalars.count else { return nil }
        return tree
    }

    private var next: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        index += 1
        return true
    }

    private mutating func takeAll(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard scalars[index...].prefix(wanted.count).elementsEqual(wanted, by: { $0.value == UInt32($1) }) else {
            return false
        }
        index += wanted.count
        return true
    }

    // MARK: - Parts

    private mutating func choice() -> Tree? {
        guard depth < JSONPattern.maximumDepth else { return nil }
        depth += 1
        defer { depth -= 1 }
        var parts: [Tree] = []
        repeat {
            guard let part = sequence() else { return nil }
            parts.append(part)
        } while take("|")
        return parts.count == 1 ? parts[0] : .choice(parts)
    }

    private mutating func sequence() -> Tree? {
        var parts: [Tree] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            guard let part = repeated() else { return nil }
            if case .empty = part { continue }
            parts.append(part)
        }
        return parts.isEmpty ? .empty : .sequence(parts)
    }

    private mutating func repeated() -> Tree? {
        guard let part = atom() else { return nil }
        var bounds: (Int, Int?)?
        if take("*") {
            bounds = (0, nil)
        } else if take("+") {
            bounds = (1, nil)
        } else if take("?") {
            bounds = (0, 1)
        } else if take("{") {
            guard let counts = counts() else { return nil }
            bounds = counts
        }
        guard let (least, most) = bounds else { return part }
        // Whether a repetition is lazy has no effect on whether the expression is found.
        _ = take("?")
        if case .assertion = part { return nil }
        if case .empty = part { return .empty }
        if let most, most < least { return nil }
        return .repetition(part, least: least, most: most)
    }

    /// Reads the counts after `{`.
    private mutating func counts() -> (Int, Int?)? {
        guard let least = count() else { return nil }
        if take("}") { return (least, least) }
        guard take(",") else { return nil }
        if take("}") { return (least, nil) }
        guard let most = count(), take("}") else { return nil }
        return (least, most)
    }

    private mutating func count() -> Int? {
        let start = index
        var value = 0
        while let digit = next, ("0"..."9").contains(digit) {
            value = value * 10 + Int(digit.value) - 0x30
            guard value <= JSONPattern.maximumSteps else { return nil }
            index += 1
        }
        return index > start ? value : nil
    }

    private mutating func atom() -> Tree? {
        guard let scalar = next else { return nil }
        index += 1
        switch scalar {
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        case ".": return set(ScalarSet.lineEnds.negated)
        case "(":
            if take("?"), !take(":"), !groupName() { return nil }
            guard let tree = choice(), take(")") else { return nil }
            return tree
        case "[": return characterClass().flatMap { set($0) }
        case "\\":
            if take("b") { return .assertion(.boundary(true)) }
            if take("B") { return .assertion(.boundary(false)) }
            return escape(inClass: false).flatMap { set($0) }
        case "*", "+", "?", "{", "}", "]", ")": return nil
        default: return set(ScalarSet([scalar.value...scalar.value]))
        }
    }

    /// Reads the name of a group, `<name>`; `false` for look-behind and anything else.
    private mutating func groupName() -> Bool {
        guard take("<"), let first = next, first.properties.isIDStart else { return false }
        while let scalar = next, scalar.properties.isIDContinue { index += 1 }
        return take(">")
    }

    private mutating func set(_ set: ScalarSet) -> Tree? {
        var set = set
        set.normalize()
        sets.append(set)
        return .set(sets.count - 1)
    }

    // MARK: - Classes

    private mutating func characterClass() -> ScalarSet? {
        var whole = ScalarSet()
        whole.isNegated = take("^")
        while !take("]") {
            guard let first = classMember() else { return nil }
            guard next == "-", index + 1 < scalars.count, scalars[index + 1] != "]" else {
                // A complement of categories has no ranges that a union could add.
                guard !first.isNegated || first.categories.isEmpty else { return nil }
                whole.formUnion(first)
                continue
            }
            index += 1
            guard let last = classMember(), let low = first.single, let high = last.single, low <= high else {
                return nil
            }
            whole.insert(low...high)
        }
        return whole
    }

    private mutating func classMember() -> ScalarSet? {
        guard let scalar = next else { return nil }
        index += 1
        if scalar == "\\" {
            if take("b") { return ScalarSet([0x08...0x08]) }
            return escape(inClass: true)
        }
        return ScalarSet([scalar.value...scalar.value])
    }

    /// Reads what follows a backslash.
    private mutating func escape(inClass: Bool) -> ScalarSet? {
        guard let scalar = next else { return nil }
        index += 1
        switch scalar {
        case "d": return .digits
        case "D": return .digits.negated
        case "w": return .words
        case "W": return .words.negated
        case "s": return .spaces
        case "S": return .spaces.negated
        case "t": return ScalarSet([0x09...0x09])
        case "n": return ScalarSet([0x0A...0x0A])
        case "v": return ScalarSet([0x0B...0x0B])
        case "f": return ScalarSet([0x0C...0x0C])
        case "r": return ScalarSet([0x0D...0x0D])
        case "c":
            guard let letter = next, letter.isASCII, letter.properties.isAlphabetic else { return nil }
            index += 1
            return ScalarSet([letter.value % 32...letter.value % 32])
        case "x": return hexadecimal(2).flatMap(Self.one)
        case "u": return unicode().flatMap(Self.one)
        case "p", "P": return category(isNegated: scalar == "P")
        // The syntax characters of the flag `u`; other punctuation is tolerated, letters and digits have or may get a meaning.
        case let other where other.isASCII && !ScalarSet.isWord(other) || other == "_":
            return ScalarSet([other.value...other.value])
        default: return nil
        }
    }

    private static func one(_ value: UInt32) -> ScalarSet? {
        // Half of a surrogate pair is in no text.
        Unicode.Scalar(value).map { ScalarSet([$0.value...$0.value]) }
    }

    private mutating func hexadecimal(_ length: Int) -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<length {
            guard let digit = next, digit.isASCII, let number = UInt8(digit.value).hexDigitValue else { return nil }
            index += 1
            value = value << 4 | UInt32(number)
        }
        return value
    }

    /// Reads `XXXX`, a surrogate pair `XXXX\uXXXX`, or `{X…}`.
    private mutating func unicode() -> UInt32? {
        if take("{") {
            var value: UInt32 = 0
            let start = index
            while !take("}") {
                guard index - start < 6, let digit = hexadecimal(1) else { return nil }
                value = value << 4 | digit
            }
            return index > start + 1 ? value : nil
        }
        guard let first = hexadecimal(4) else { return nil }
        guard first & 0xFC00 == 0xD800, takeAll("\\u") else { return first }
        guard let second = hexadecimal(4), second & 0xFC00 == 0xDC00 else { return nil }
        return 0x10000 + (first & 0x3FF) << 10 + second & 0x3FF
    }

    /// Reads `{Lu}`, `{Letter}` or `{General_Category=Letter}`.
    private mutating func category(isNegated: Bool) -> ScalarSet? {
        guard take("{") else { return nil }
        _ = takeAll("General_Category=") || takeAll("gc=")
        var name = ""
        while let scalar = next, scalar != "}", name.utf8.count < 32 {
            name.unicodeScalars.append(scalar)
            index += 1
        }
        guard take("}"), let categories = Self.categories(name) else { return nil }
        var set = ScalarSet()
        set.categories = [(categories, isNegated)]
        return set
    }

    private static func categories(_ name: String) -> [Unicode.GeneralCategory]? {
        switch name {
        case "L", "Letter":
            [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter]
        case "Lu", "Uppercase_Letter": [.uppercaseLetter]
        case "Ll", "Lowercase_Letter": [.lowercaseLetter]
        case "Lt", "Titlecase_Letter": [.titlecaseLetter]
        case "Lm", "Modifier_Letter": [.modifierLetter]
        case "Lo", "Other_Letter": [.otherLetter]
        case "M", "Mark": [.nonspacingMark, .spacingMark, .enclosingMark]
        case "Mn", "Nonspacing_Mark": [.nonspacingMark]
        case "N", "Number": [.decimalNumber, .letterNumber, .otherNumber]
        case "Nd", "Decimal_Number", "digit": [.decimalNumber]
        case "P", "Punctuation", "punct":
            [
                .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
                .finalPunctuation, .otherPunctuation,
            ]
        case "S", "Symbol": [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol]
        case "Sc", "Currency_Symbol": [.currencySymbol]
        case "Z", "Separator": [.spaceSeparator, .lineSeparator, .paragraphSeparator]
        case "Zs", "Space_Separator": [.spaceSeparator]
        case "Cc", "Control", "cntrl": [.control]
        default: nil
        }
    }
}

extension ScalarSet {
    /// The only scalar of the set; `nil` for another set.
    fileprivate var single: UInt32? {
        guard ranges.count == 1, categories.isEmpty, !isNegated, ranges[0].count == 1 else { return nil }
        return ranges[0].lowerBound
    }
}
