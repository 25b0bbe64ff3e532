// Two texts are equal if their bytes are equal, as for PostgreSQL.
//
// Swift compares the characters of texts. It normalizes a text that is not ASCII, and takes a time that is quadratic in the number of combining
// marks in a row (Unicode Standard Annex 15): 64 KiB of them take half a second, and peers choose the text. These functions have the names of
// the standard library's, so that `==` and `switch` are linear everywhere in the package. `Set`, `Dictionary`, `<`, raw values of enumerations
// and all that compares a `Character` still use Swift's comparison: they are for short texts (`String.init(nameInJSON:)`), `ExactText` is for
// others. `script/test texts` and openapi/test_texts.py look for the rest.

extension String {
    fileprivate func hasBytes(of other: String) -> Bool { ExactText(self) == ExactText(other) }

    package static func == (left: String, right: String) -> Bool { left.hasBytes(of: right) }
    package static func != (left: String, right: String) -> Bool { !left.hasBytes(of: right) }
    package static func ~= (pattern: String, text: String) -> Bool { text.hasBytes(of: pattern) }

    package static func == (left: String?, right: String) -> Bool { left?.hasBytes(of: right) ?? false }
    package static func != (left: String?, right: String) -> Bool { !(left == right) }
    package static func ~= (pattern: String, text: String?) -> Bool { text == pattern }
    package static func == (left: String, right: String?) -> Bool { right == left }
    package static func != (left: String, right: String?) -> Bool { !(right == left) }

    /// Whether the bytes of the text begin with those of another.
    package func hasPrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
    /// Whether the bytes of the text end with those of another.
    package func hasSuffix(_ suffix: String) -> Bool { utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }
}

extension Optional<String> {
    package static func == (left: String?, right: String?) -> Bool {
        switch (left, right) {
        case (let left?, let right?): left.hasBytes(of: right)
        case (nil, nil): true
        default: false
        }
    }
    package static func != (left: String?, right: String?) -> Bool { !(left == right) }
}

extension Array<String> {
    /// Whether an element has the bytes of a text.
    package func contains(_ text: String) -> Bool { contains { $0 == text } }
    /// The index of the first element with the bytes of a text.
    package func firstIndex(of text: String) -> Index? { firstIndex { $0 == text } }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    /// The case of a word that a peer sends; `nil` for any other word. `init(rawValue:)` is for the words of our own.
    package init?(word: String) {
        guard let known = Self.allCases.first(where: { $0.rawValue == word }) else { return nil }
        self = known
    }
}

extension StringProtocol {
    package static func == <Other: StringProtocol>(left: Self, right: Other) -> Bool { left.hasBytes(of: right) }
    package static func != <Other: StringProtocol>(left: Self, right: Other) -> Bool { !left.hasBytes(of: right) }

    /// Whether the bytes of the text begin with those of another.
    package func hasPrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }
    /// Whether the bytes of the text end with those of another.
    package func hasSuffix(_ suffix: some StringProtocol) -> Bool {
        utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    fileprivate func hasBytes(of other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

extension String {
    /// The first place where the text has the bytes of another.
    package func firstRange(of other: String) -> Range<Index>? { self[...].firstRange(of: other) }
    /// Whether the text has the bytes of another.
    package func contains(_ other: String) -> Bool { self[...].contains(other) }
    /// The text with another one, which is not empty, replaced everywhere.
    package func replacing(_ other: String, with replacement: String) -> String {
        var text = ""
        var rest = self[...]
        while let range = rest.firstRange(of: other), !range.isEmpty {
            text += rest[..<range.lowerBound]
            text += replacement
            rest = rest[range.upperBound...]
        }
        return text + rest
    }
}

extension Substring {
    /// The first place where the text has the bytes of another.
    package func firstRange(of other: String) -> Range<Index>? {
        guard let offset = offset(of: other) else { return nil }
        let start = utf8.index(startIndex, offsetBy: offset)
        return start..<utf8.index(start, offsetBy: other.utf8.count)
    }

    /// Whether the text has the bytes of another.
    package func contains(_ other: String) -> Bool { offset(of: other) != nil }

    /// The number of bytes before the first place where the text has the bytes of another.
    private func offset(of other: String) -> Int? {
        var (text, other) = (self, other)
        return text.withUTF8 { text in
            other.withUTF8 { other in
                guard let first = other.first else { return 0 }
                guard text.count >= other.count else { return nil }
                return (0...text.count - other.count).first { start in
                    text[start] == first && text[start..<start + other.count].elementsEqual(other)
                }
            }
        }
    }
}
