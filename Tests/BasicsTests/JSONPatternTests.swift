import Testing

@testable import ChatterdBasics

@Suite struct JSONPatternTests {
    private static let found: [(pattern: String, texts: [String], others: [String])] = [
        ("", ["", "a"], []), ("a|bc", ["xbc", "a"], ["b"]), ("^a.c$", ["abc", "a👩c"], ["a\nc", "abcd"]),
        ("^(?:ab)+?$", ["abab"], ["aba", ""]), ("^(?<year>\\d{4})-\\d\\d$", ["2026-11"], ["２０２６-11"]),
        ("[^a-c-]", ["d"], ["a-c"]), ("^[\\w-]+$", ["a_-Z9"], ["é"]), ("\\bcat\\b", ["a cat!"], ["cats"]),
        ("^\\p{Lu}\\P{L}$", ["Ä1"], ["ä1", "Aa"]), ("^\\u{1F600}\\x41\\uD83D\\uDE00$", ["😀A😀"], ["😀A"]),
        ("^a{2,}$", ["aa", "aaaa"], ["a"]), ("^(a*)*$", ["", "aaa"], ["b"]), ("^\\$\\/\\.$", ["$/."], ["$/x"]),
        ("^[\\D]$", ["a"], ["1"]), ("\\s", ["\u{FEFF}", " "], ["a"]), ("^(){4096}a$", ["a"], ["b"]),
    ]

    @Test(arguments: found.indices) func expressionIsFoundWhereItMatches(index: Int) throws {
        let sample = Self.found[index]
        let pattern = try #require(JSONPattern(ArraySlice(sample.pattern.utf8)))
        var budget = Int.max
        for text in sample.texts {
            #expect(pattern.isFound(in: ArraySlice(text.utf8), budget: &budget) == true, "\(text)")
        }
        for text in sample.others {
            #expect(pattern.isFound(in: ArraySlice(text.utf8), budget: &budget) == false, "\(text)")
        }
    }

    @Test(arguments: [
        "(", ")", "[a", "a**", "*", "a{2,1}", "{", "\\1", "\\k<a>", "(?=a)", "(?!a)", "(?<=a)", "(?i)a", "\\p{Greek}",
        "\\Aa",
        "[z-a]", "((((a{64}){64}){64}))", "a{5000}", "\\ud800",
    ])
    func expressionThatIsNotSupportedIsRefused(text: String) {
        #expect(JSONPattern(ArraySlice(text.utf8)) == nil)
    }

    @Test func deepGroupsAreRefused() {
        let groups = String(repeating: "(", count: 1_000) + String(repeating: ")", count: 1_000)
        #expect(JSONPattern(ArraySlice(groups.utf8)) == nil)
    }

    @Test func categoryIsSearchedOnceHoweverOftenItIsNamed() throws {
        let text = "[" + String(repeating: "\\p{L}\\P{N}", count: 300) + "]"
        #expect(try #require(JSONPattern(ArraySlice(text.utf8))).sets.map(\.categories.count) == [2])
    }

    @Test func searchEndsWithItsBudget() throws {
        let pattern = try #require(JSONPattern(ArraySlice("a*b".utf8)))
        var budget = 10
        #expect(pattern.isFound(in: ArraySlice(String(repeating: "a", count: 100).utf8), budget: &budget) == nil)
    }
}
