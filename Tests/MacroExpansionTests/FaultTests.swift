import Testing

@testable import ChatterdMacroExpansion

/// What the macros refuse, and where they say so.
struct FaultTests {
    /// The messages, each with the token at which it is.
    private func faults(_ text: String) -> [String] {
        let source = SourceText(text)
        func describe(_ fault: SyntaxFault) -> String {
            let token = source.tokens.indices.first { source.offset(of: $0) == fault.offset }
            return "\(token.map { source[$0] } ?? "?"): \(fault.message)"
        }
        do throws(SyntaxFault) {
            let (declaration, source) = try DeclarationReader.read(text)
            return (declaration.faults + GuideCheck.faults(of: declaration, in: source)).map(describe)
        } catch {
            return [describe(error)]
        }
    }

    @Test(arguments: [
        ("final class A { let a: Int }", "class: @Generable is for structures and enumerations"),
        ("actor A {}", "actor: @Generable is for structures"), ("func a() {}", "func: @Generable is for structures"),
        ("struct A { let a: [String: Int] }", "a: a model cannot generate “[String: Int]”: it is a dictionary"),
        ("struct A { let a: Dictionary<String, Int>? }", "it is a dictionary"),
        ("struct A { let a: Set<Int> }", "it is a set"), ("struct A { let a: (Int, b: Int) }", "it is a tuple"),
        ("struct A { let a: [(x: Int)] }", "it is a tuple"),
        ("struct A { let a: @Sendable (Int) -> Void }", "it is a function"),
        ("struct A { let a: (() async throws(E) -> [Int])? }", "it is a function"),
        ("struct A { let a: any P }", "not known"), ("struct A { let a: P & Q }", "not known"),
        ("struct A { let a: Int! }", "unwrapped"), ("struct A { let a: [A]? }", "contains itself has no finite form"),
        ("indirect enum A { case a(A) }", "contains itself"), ("struct A { let (a, b): (Int, Int) }", "(: "),
        ("struct A {\n#if DEBUG\nlet a: Int\n#endif\n}", "#: @Generable cannot read members in #if"),
        ("enum A { case a(Int, b: Int) }", "(: each of several values of a case needs a label"),
        ("enum A { case a(type: Int) }", "(: no value of a case is called “type”"),
        ("enum A { @Guide(description: \"\") case a }", "@: @Guide is for properties of structures"),
        ("struct A { @Guide(description: \"\") var a: Int { 1 } }", "@: @Guide is for stored properties"),
        ("struct A { @Guide(description: \"\") let a = 1 }", "@: @Guide is for stored properties"),
        ("struct A { @Guide(description: \"\") static let a: Int = 1 }", "@: @Guide is for stored properties"),
        ("struct A { @Guide(.count(1)) @Guide(.minimumCount(2)) let a: [Int] }", "@: a property has one @Guide"),
        (
            "struct A { @Guide(.minimum(1)) let a: String }",
            "minimum: “minimum” is not a condition for “String”; there are pattern,"
        ),
        ("struct A { @Guide(.pattern(\"a\")) let a: Int? }", "pattern: “pattern” is not a condition for “Int”"),
        ("struct A { @Guide(.anyOf(\"a\")) let a: [String] }", "anyOf: “anyOf” is not a condition for “[String]”"),
        (
            "struct A { @Guide(.element(.range(1...2))) let a: [String] }",
            "range: “range” is not a condition for “String”"
        ),
        ("struct A { @Guide(.count(1)) let a: Bool }", "count: “count” is not a condition for “Bool”; there are none"),
    ]) func faultNamesWhatToWriteInstead(_ text: String, _ message: String) {
        let faults = faults(text)
        #expect(faults.count == 1 && faults[0].contains(message), "\(faults)")
    }

    @Test func allFaultsAreReported() {
        #expect(faults("struct A { let a: any P, b: Set<Int>\nlet c: (Int, Int) }").count == 3)
    }

    @Test(arguments: [
        "struct A<T: P>: Q, R where T.U == Int { let a: T? }", "struct A { let f = { (x: Int) in x }; let a: Int }",
        "struct A {\n let x =\n  1 +\n  2\n @Guide(.minimum(1)) let a: Int\n}",
        "struct A {\n typealias B = [Int]\n let a: B.Element\n subscript(i: Int) -> Int { i }\n}",
        "struct A {\n @MainActor static func f() async throws -> [Int] where Int: P { [] }\n let a: Int\n}",
        "struct A { @Wrapper(x: 1) private(set) var a: Int\n #warning(\"}\")\n init() { a = 1 } }",
        "@available(*, deprecated) fileprivate struct A { enum B { case x }; class func f() {}; let a: Swift.Optional<Int> }",
        "struct A { lazy var b: Int = 1\n weak var c: B? = nil\n var a: Int { didSet {} }\n var d: Int { get { 1 } }}",
    ]) func onlyThePropertyAIsGenerated(_ text: String) throws {
        let (declaration, _) = try DeclarationReader.read(text)
        #expect(declaration.faults.isEmpty && declaration.properties.map(\.name) == ["a"], "\(declaration.properties)")
    }

    /// Source that is being written is never worse than a fault: each beginning of it, and it without one of its tokens.
    @Test(arguments: [
        "public struct A<T: P>: Q { @Guide(.element(.range(1...2))) let a: [(Int, b: T?)]?, b: @Sendable () -> Int = { 1 } }",
        "struct A { typealias B = [Int: C.D<E>]\n #warning(\"x\")\n var a: any P & Q { didSet {} } ; let r = /[{]/ }",
        "indirect enum A: String { case a(_ x: Int = 1, y: [A]), b = \"c\\(d)\", `default` }",
    ]) func incompleteSourceIsReadWithoutACrash(_ text: String) throws {
        let bytes = Array(text.utf8)
        for end in bytes.indices {
            _ = faults(String(decoding: bytes[..<end], as: UTF8.self))
        }
        let source = SourceText(text)
        for index in source.tokens.indices {
            let range = source.tokens[index].range
            _ = faults(String(decoding: bytes[..<range.lowerBound] + bytes[range.upperBound...], as: UTF8.self))
        }
        #expect(faults(String(decoding: bytes.dropLast(), as: UTF8.self)) == ["\(source[0]): a bracket is missing"])
    }
}
