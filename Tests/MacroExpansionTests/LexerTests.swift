import Testing

@testable import ChatterdMacroExpansion

struct LexerTests {
    @Test(arguments: [
        ("let a=1", ["let", "a", "=", "1"]),
        ("a // b }\nc /* d /* e */ f */ g", ["a", "c", "g"]),
        (#""a\"}\( f("b", ")") )c" d"#, [#""a\"}\( f("b", ")") )c""#, "d"]),
        (##"#"a"\(b)\#(c(")"))"# d"##, [##"#"a"\(b)\#(c(")"))"#"##, "d"]),
        ("\"\"\"\na \"\"\" } \\\"\"\"\n\"\"\" b", ["\"\"\"\na \"\"\"", "}", "\\", "\"\"\"\n\"\"\"", "b"]),
        (#"let r = /[{]"\// + 1"#, ["let", "r", "=", #"/[{]"\//"#, "+", "1"]),
        ("a / b + c/d", ["a", "/", "b", "+", "c", "/", "d"]), ("#/a{/# b", ["#/a{/#", "b"]),
        ("`class` `two words`", ["`class`", "`two words`"]), ("1.5e-3...0x1p+2", ["1.5e-3", ".", ".", ".", "0x1p+2"]),
        ("Größe?", ["Größe", "?"]), ("#if A", ["#", "if", "A"]), ("", []), ("\"a", ["\"a"]), ("/* a", []),
    ]) func sourceIsDividedIntoTokens(_ text: String, _ tokens: [String]) {
        let source = SourceText(text)
        #expect(source.tokens.indices.map { source[$0] } == tokens)
    }

    @Test func tokenKnowsWhetherItIsTheFirstOfItsLine() {
        #expect(SourceText("a b\nc /*\n*/ d").tokens.map(\.isFirstOfLine) == [true, false, true, true])
    }
}
