import Testing

@testable import ChatterdBasics

/// Texts are compared by their bytes, in the functions that have the names of the standard library's.
@Suite struct TextTests {
    /// Pairs of texts of the same characters in other scalars, and pairs that only seem to be equal.
    static let pairs = [
        ("e\u{301}", "\u{e9}"), ("a\u{301}\u{323}", "a\u{323}\u{301}"), ("K", "\u{212a}"), (";", "\u{37e}"),
        ("", "\u{301}"), ("a", "a\u{301}"), ("\u{1f1e6}\u{1f1e6}", "\u{1f1e6}"), ("é", "é"), ("", ""),
        ("long enough to lie on the heap", "long"),
    ]

    @Test(arguments: pairs)
    func textsAreEqualIfTheirBytesAre(_ one: String, _ other: String) {
        let isEqual = one.utf8.elementsEqual(other.utf8)
        let (optional, otherOptional, none): (String?, String?, String?) = (one, other, nil)
        let part = (one + "x").dropLast()
        #expect((one == other) == isEqual && (one != other) == !isEqual)
        #expect((optional == other) == isEqual && (optional != other) == !isEqual)
        #expect((other == optional) == isEqual && (other != optional) == !isEqual)
        #expect((optional == otherOptional) == isEqual && (optional != otherOptional) == !isEqual)
        #expect(!(none == other) && none != other && none != optional)
        #expect((part == other) == isEqual && (part != other) == !isEqual)
        #expect((other == part) == isEqual)
        switch one {
        case other: #expect(isEqual)
        default: #expect(!isEqual)
        }
        switch optional {
        case other: #expect(isEqual)
        default: #expect(!isEqual)
        }
    }

    @Test(arguments: pairs)
    func partsOfTextsAreFoundByTheirBytes(_ one: String, _ other: String) {
        let isEqual = one.utf8.elementsEqual(other.utf8)
        #expect((one + "x").hasPrefix(one) && ("x" + one).hasSuffix(one))
        #expect(one.hasPrefix(other) == one.utf8.starts(with: other.utf8))
        #expect(one[...].hasPrefix(other) == one.utf8.starts(with: other.utf8))
        #expect(one.hasSuffix(other) == one.utf8.reversed().starts(with: other.utf8.reversed()))
        #expect(one[...].hasSuffix(other) == one.utf8.reversed().starts(with: other.utf8.reversed()))
        let text = "<\(one)><\(one)>"
        #expect(text.contains("<\(other)>") == isEqual)
        #expect(text.replacing("<\(other)>", with: "-") == (isEqual ? "--" : text))
        #expect(text.firstRange(of: ">").map { text[..<$0.lowerBound] } == "<\(one)"[...])
        #expect(text.firstRange(of: "").map(\.isEmpty) == true)
    }

    @Test func longNameIsNone() {
        let name = String(repeating: "n", count: String.maximumNameInJSON)
        #expect(String(nameInJSON: Array(name.utf8).span) == name)
        #expect(String(nameInJSON: Array("\(name)n".utf8).span) == "…")
        #expect(String(nameInJSON: Array(#"a\u0062"#.utf8).span) == "ab")
    }

    /// Without a limit, or compared by characters, each of them takes minutes.
    @Test func longTextsOfMarksAreComparedAtOnce() {
        let marks = String(repeating: "\u{301}", count: 300_000) + String(repeating: "\u{323}", count: 300_000)
        let (one, same, other) = ("a\(marks)", "a\(marks)", "b\(marks)")
        let optional: String? = one
        #expect(one != other && one == same && optional != other && optional == same)
        #expect(!one.hasPrefix(other) && !one.contains("bc"))
        #expect(ExactText(one) != ExactText(other) && Set([ExactText(one), ExactText(other)]).count == 2)
    }
}
