import Foundation
import Testing

@testable import ChatterdBasics

@Suite struct JSONSchemaTests {
    /// The keyword that a value violates; "" if it fits.
    private func violated(_ schema: String, _ value: String) throws -> String {
        let schema = try JSONSchema(Array(schema.utf8))
        guard let violation = schema.violation(of: Array(value.utf8)) else { return "" }
        return violation.keyword.isEmpty ? violation.reason : violation.keyword
    }

    private static let cases: [(schema: String, value: String, keyword: String)] = [
        (#"{"type":"integer"}"#, "1.0", ""), (#"{"type":"integer"}"#, "1e2", ""),
        (#"{"type":"integer"}"#, "15e-1", "type"), (#"{"type":["null","string"]}"#, "null", ""),
        (#"{"enum":[1,"a",{"b":[2],"a":1}]}"#, #"{"a":1.0,"b":[20e-1]}"#, ""),
        (#"{"enum":[1,"a"]}"#, "true", "enum"), (#"{"const":"\u00e4"}"#, "\"ä\"", ""),
        // Equal characters in other scalars are another text.
        (#"{"const":"a\u0308"}"#, "\"ä\"", "const"),
        (#"{"minimum":9007199254740993}"#, "9007199254740992", "minimum"),
        (#"{"maximum":0.1}"#, "0.10000000000000000001", "maximum"),
        (#"{"exclusiveMinimum":-2}"#, "-2", "exclusiveMinimum"),
        (#"{"exclusiveMaximum":1e400}"#, "1e399", ""), (#"{"multipleOf":0.01}"#, "19.99", ""),
        (#"{"multipleOf":7}"#, "1e1000000000", "multipleOf"), (#"{"multipleOf":0.0001}"#, "0.00751", "multipleOf"),
        (#"{"maxLength":1}"#, "\"👩\"", ""), (#"{"maxLength":1}"#, #""\ud83d\udc69""#, ""),
        (#"{"minLength":2}"#, "\"a\"", "minLength"),
        (#"{"pattern":"^[a-z]{2,3}$"}"#, "\"abc\"", ""), (#"{"pattern":"^[a-z]{2,3}$"}"#, "\"abcd\"", "pattern"),
        (#"{"uniqueItems":true}"#, #"[{"a":1,"b":2},{"b":2,"a":1.0}]"#, "uniqueItems"),
        (#"{"uniqueItems":true}"#, #"[1,true,"1",[1],null]"#, ""),
        (#"{"prefixItems":[{"type":"string"}],"items":false}"#, #"["a",1]"#, "false"),
        (#"{"contains":{"type":"null"},"minContains":2}"#, "[null,1]", "contains"),
        (#"{"required":["a","b"]}"#, #"{"a":1}"#, "required"),
        (#"{"properties":{"a":true},"additionalProperties":false}"#, #"{"b":1}"#, "additionalProperties"),
        (#"{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}"#, #"{"x-a":"b"}"#, ""),
        (#"{"propertyNames":{"maxLength":2}}"#, #"{"abc":1}"#, "propertyNames"),
        (#"{"dependentRequired":{"a":["b"]}}"#, #"{"a":1}"#, "dependentRequired"),
        (#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, "1", "anyOf"),
        // The only schema for the type of the value says what is wrong.
        (#"{"anyOf":[{"type":"number","minimum":2},{"type":"null"}]}"#, "1", "minimum"),
        (#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "3", "oneOf"), (#"{"not":{"type":"string"}}"#, #""""#, "not"),
        (#"{"if":{"type":"string"},"then":{"minLength":1},"else":false}"#, #""""#, "minLength"),
        (
            ##"{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["v"]}},"$ref":"#/$defs/n"}"##,
            #"{"v":1,"next":{"v":2,"next":{}}}"#, "required"
        ),
        ("true", "[]", ""), ("false", "[]", "false"),
    ]

    @Test(arguments: cases.indices) func keywordIsChecked(index: Int) throws {
        let sample = Self.cases[index]
        #expect(try violated(sample.schema, sample.value) == sample.keyword, "\(sample)")
    }

    @Test func violationHasThePlaceOfItsValue() throws {
        let schema = try JSONSchema(Array(#"{"properties":{"a/b":{"items":{"type":"string"}}}}"#.utf8))
        let violation = schema.violation(of: Array(#"{"z":[1],"a/b":["x",["y"],"z"]}"#.utf8))
        #expect(violation?.pointer == "/a~1b/1")
        #expect(violation?.sentence == "The value at /a~1b/1 is not of the type string.")
    }

    @Test(arguments: ["", "{", "{}}", "```json\n{}\n```", #"{"a":1,"a":2}"#, "\"\u{0}\""])
    func textThatIsNoDocumentFitsNoSchema(text: String) throws {
        #expect(try !violated("true", text).isEmpty)
    }

    // MARK: - What is not checked

    private static let unchecked: [(schema: String, pointers: [String])] = [
        (#"{"pattern":"(?=a)"}"#, ["/pattern"]),
        (#"{"properties":{"a":{"unevaluatedProperties":false}}}"#, ["/properties/a/unevaluatedProperties"]),
        (#"{"items":[{"type":"string"}]}"#, ["/items"]), (#"{"required":true}"#, ["/required"]),
        (#"{"$ref":"https://example.com/a"}"#, ["/$ref"]), (##"{"$ref":"#"}"##, ["/$ref"]),
        (
            ##"{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}"##,
            ["/$defs/a/allOf/0/$ref"]
        ),
        (#"{"not":{"pattern":"\\1"}}"#, ["/not/pattern", "/not"]),
        (#"{"oneOf":[{"pattern":"\\1"},{"type":"string"}]}"#, ["/oneOf/0/pattern", "/oneOf"]),
        (#"{"if":{"unevaluatedItems":false},"then":false}"#, ["/if/unevaluatedItems", "/if"]),
        (
            #"{"patternProperties":{"(?<!a)":true},"additionalProperties":false}"#,
            ["/patternProperties", "/additionalProperties"]
        ),
        (#"{"multipleOf":0}"#, ["/multipleOf"]), (#"{"title":7,"format":"email","nullable":true}"#, []),
    ]

    @Test(arguments: unchecked.indices) func keywordThatCannotBeCheckedIsListedAndViolatedByNoValue(index: Int) throws {
        let sample = Self.unchecked[index]
        let schema = try JSONSchema(Array(sample.schema.utf8))
        #expect(schema.unchecked == sample.pointers)
        for value in [#""a""#, #"["a"]"#, #"{"a":{"b":1}}"#] { #expect(schema.violation(of: Array(value.utf8)) == nil) }
    }

    @Test func listOfUncheckedKeywordsEndsWithAMark() throws {
        let parts = (0..<40).map { "\"p\($0)\":{\"dependencies\":{}}" }.joined(separator: ",")
        let schema = try JSONSchema(Array("{\"properties\":{\(parts)}}".utf8))
        #expect(schema.unchecked.count == JSONSchema.maximumUnchecked + 1 && schema.unchecked.last == "…")
    }

    // MARK: - Limits

    @Test(arguments: [
        "7", "[]", "{", #"{"a":1,"a":2}"#, "{\"a\":\"" + String(repeating: "x", count: JSONSchema.maximumBytes) + "\"}",
    ])
    func textThatIsNoSchemaIsRefused(text: String) {
        #expect(throws: JSONSchemaError.self) { try JSONSchema(Array(text.utf8)) }
    }

    @Test func checkThatGrowsExponentiallyGivesUp() throws {
        let branch = ##"{"allOf":[{"items":{"$ref":"#"}},false]}"##
        let part = #"{"anyOf":[\#(branch),\#(branch),true]}"#
        let value = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(try violated(part, value).contains("cannot be checked"))
    }

    // Loops over long texts that happen many times. A check of them ends for lack of steps, because each loop counts its length.
    private static let costly: [(schema: String, value: String)] = {
        let long = String(repeating: "x", count: 100_000)
        let digits = String(repeating: "1", count: 100_000)
        let many = Array(repeating: ##"{"$ref":"#/$defs/a"}"##, count: 40).joined(separator: ",")
        func often(_ part: String) -> String { #"{"$defs":{"a":\#(part)},"allOf":[\#(many)]}"# }
        return [
            (often(#"{"type":"integer"}"#), digits + "e100000"), (often(#"{"maximum":1e200000}"#), digits + "0"),
            (often(#"{"minLength":1}"#), "\"\(long)\""), (often(#"{"const":"\#(long)"}"#), "\"\(long)\""),
            (often(#"{"required":["\#(long)"]}"#), #"{"\#(long)":1}"#),
            (often(#"{"properties":{"\#(long)":true}}"#), #"{"\#(long)":1}"#),
            (often(#"{"propertyNames":true}"#), #"{"\#(long)":1}"#),
            (often(#"{"dependentRequired":{"\#(long)":[]}}"#), #"{"\#(long)":1}"#),
            (often(#"{"dependentSchemas":{"\#(long)":true}}"#), #"{"\#(long)":1}"#),
            (often(#"{"pattern":"^x"}"#), "\"\(long)\""), (often(#"{"uniqueItems":true}"#), "[\"\(long)\",1]"),
        ]
    }()

    @Test(arguments: costly.indices) func loopOverALongTextCountsItsLength(index: Int) throws {
        let sample = Self.costly[index]
        let violation = try JSONSchema(Array(sample.schema.utf8)).violation(
            of: Array(sample.value.utf8), steps: 100_000)
        #expect(violation?.isForLackOfSteps == true)
        #expect(violation?.sentence == "The answer takes too many steps, so that it cannot be checked.")
    }

    @Test func checkWithoutStepsSaysNothingElse() throws {
        // Each of these would be violated, or fit, by the part that is not checked any more.
        let parts = [
            #"{"not":{"minLength":9}}"#, #"{"oneOf":[{"minLength":9},{"minLength":1}]}"#,
            #"{"if":{"minLength":9},"else":false}"#,
            #"{"anyOf":[{"minLength":9},{"minLength":8}]}"#,
        ]
        let value = Array("\"\(String(repeating: "x", count: 4))\"".utf8)
        for part in parts {
            let schema = try JSONSchema(Array(part.utf8))
            let whole = schema.violation(of: value)
            for steps in 0..<60 {
                let violation = schema.violation(of: value, steps: steps)
                #expect(violation == .tooManySteps || violation == whole, "\(part) \(steps)")
            }
            #expect(schema.violation(of: value, steps: 0) == .tooManySteps)
        }
    }

    @Test func deepTreeIsChecked() throws {
        let schema = ##"{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#"}}]}"##
        let value = String(repeating: "[", count: 63) + "\"\"" + String(repeating: "]", count: 63)
        #expect(try violated(schema, value) == "")
    }

    @Test func stepsOfAllPatternsHaveALimit() throws {
        let names = (0..<200).map { "p\($0)" }
        let members = names.map { #""\#($0)":{"pattern":"^a{4000}$"}"# }.joined(separator: ",")
        let schema = try JSONSchema(Array(#"{"properties":{\#(members)}}"#.utf8))
        #expect(schema.unchecked.count == JSONSchema.maximumUnchecked + 1)
        let checked = names.count { schema.violation(of: Array(#"{"\#($0)":"a"}"#.utf8)) != nil }
        #expect(checked == JSONSchema.maximumPatternSteps / 4_003)
    }

    @Test func reasonOfALongNumberIsShort() throws {
        let bound = String(repeating: "9", count: 10_000)
        let violation = try JSONSchema(Array(#"{"minimum":\#(bound)}"#.utf8)).violation(of: Array("1".utf8))
        #expect(violation?.reason == "is less than \(bound.prefix(40))…e9960")
    }

    @Test func patternsTakeALinearNumberOfSteps() throws {
        let long = "\"" + String(repeating: "a", count: 20_000) + "!\""
        #expect(try violated(#"{"pattern":"^(a+)+$"}"#, long) == "pattern")
        #expect(
            try violated(#"{"pattern":"^(a|aa|aaa)*b{0,500}$"}"#, "\"" + String(repeating: "a", count: 20_000) + "\"")
                == "")
    }

    @Test func textsBeyondTheLimitsDoNotFit() throws {
        let many = "[" + String(repeating: "1,", count: JSONSchema.maximumTextValues) + "1]"
        #expect(try violated("true", many) == "has more values than are checked")
        let long = "\"" + String(repeating: "a", count: JSONSchema.maximumText) + "\""
        #expect(try violated("true", long).hasPrefix("is longer"))
    }

    // MARK: - The official suite

    /// The files of the suite, and random ones with the verdicts of another program: `script/test schemas`.
    private static let suite =
        ProcessInfo.processInfo.environment["JSON_SCHEMA_SUITE"]?.split(separator: ":").map(String.init) ?? []

    @Test(.enabled(if: !suite.isEmpty), arguments: suite) func verdictsAreThoseOfTheSuite(path: String) throws {
        let groups = try JSONSlice(Array(Data(contentsOf: URL(fileURLWithPath: path)))).elements(first: .max) ?? []
        #expect(!groups.isEmpty)
        for group in groups {
            let members = Dictionary(group.members(first: .max)?.map { ($0.name, $0.value) } ?? []) { $1 }
            let schema = try JSONSchema(#require(members["schema"]).bytes)
            for test in members["tests"]?.elements(first: .max) ?? [] {
                let parts = Dictionary(test.members(first: .max)?.map { ($0.name, $0.value) } ?? []) { $1 }
                let isValid = try #require(parts["valid"]?.boolean as Bool?)
                let violation = schema.violation(of: try #require(parts["data"]).bytes)
                // A keyword that is not checked may let a value pass, and never refuses one.
                if violation == nil, !isValid, !schema.unchecked.isEmpty { continue }
                #expect(
                    (violation == nil) == isValid,
                    "\(members["description"]?.string ?? ""): \(parts["description"]?.string ?? ""), \(violation as Any)"
                )
            }
        }
    }
}
