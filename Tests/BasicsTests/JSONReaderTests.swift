import ChatterdBasics
import Testing

struct JSONReaderTests {
    @Test(arguments: jsonTextsToAccept)
    func textOfTheGrammarIsAccepted(_ text: String) throws {
        let bytes = Array(text.utf8)
        try JSONReader.validate(bytes.span)
    }

    @Test(arguments: jsonTextsToRefuse)
    func textOutsideTheGrammarIsRefused(_ text: JSONRefusal) {
        #expect(text.bytes.jsonFault?.code == text.code)
    }

    @Test(arguments: jsonTextsToAccept)
    func noPrefixOfATextIsAccepted(_ text: String) {
        let bytes = Array(text.utf8)
        // A number may end after any digit; white space ends no other value.
        guard let first = bytes.first(where: { $0 > 0x20 }), first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        else { return }
        let length = bytes.count - bytes.reversed().prefix { $0 <= 0x20 }.count
        for end in 0..<length {
            #expect(Array(bytes[..<end]).jsonFault != nil, "the first \(end) bytes of \(text)")
        }
    }

    @Test func depthIsLimitedToSixtyFourLevels() {
        let opening = [UInt8](repeating: UInt8(ascii: "["), count: 64)
        let closing = [UInt8](repeating: UInt8(ascii: "]"), count: 64)
        #expect((opening + closing).jsonFault == nil)
        let tooDeep = [UInt8(ascii: "[")] + opening + closing + [UInt8(ascii: "]")]
        #expect(tooDeep.jsonFault == JSONError(.tooDeep, at: 64))
        #expect([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000).jsonFault?.code == .tooDeep)
    }

    @Test func levelsEnteredByTheCallerCountToo() throws {
        let text = Array(String(repeating: "[", count: 65).utf8)
        var reader = JSONReader(text.span)
        for _ in 0..<64 {
            try reader.beginArray()
            #expect(try reader.nextElement())
        }
        var fault: JSONError?
        do { try reader.skipValue() } catch { fault = error }
        #expect(fault?.code == .tooDeep)
    }

    @Test(arguments: ["", " ", #""a":1,"b":[2,{"c":3}]"#, #" "a" : 1 , "b":[2,{"c":3}] "#])
    func membersWithoutBracesAreVisited(_ list: String) throws {
        let text = Array(list.utf8)
        var reader = JSONReader(text.span)
        var seen: [String] = []
        while let key = try reader.nextMember() {
            seen.append(String(decodingJSON: text.span.extracting(key.range)))
            try reader.skipValue()
        }
        #expect(seen == (list.contains("a") ? ["a", "b"] : []))
        #expect(try reader.nextMember() == nil)
    }

    @Test(arguments: [#","a":1"#, #""a":1,"#, #""a":1 "b":2"#, #""a":1}"#, "1"])
    func damagedMembersWithoutBracesAreRefused(_ list: String) throws {
        let text = Array(list.utf8)
        #expect(throws: JSONError.self) {
            var reader = JSONReader(text.span)
            while try reader.nextMember() != nil {
                try reader.skipValue()
            }
        }
    }

    @Test func membersAreVisitedInOrderWithTheirValues() throws {
        let text = Array(#" { "a" : 1 , "b":[true,{"c":null}],"":"x\ny" } "#.utf8)
        var reader = JSONReader(text.span)
        var seen: [String] = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let value = try reader.skipValue()
            seen.append(text.text(key.range) + "=" + text.text(value))
        }
        try reader.finish()
        #expect(seen == ["a=1", #"b=[true,{"c":null}]"#, #"="x\ny""#])
    }

    @Test func elementsAreVisitedInOrder() throws {
        let text = Array("[1, [], {}, \"]\" ]".utf8)
        var reader = JSONReader(text.span)
        var kinds: [JSONKind] = []
        try reader.beginArray()
        while try reader.nextElement() {
            kinds.append(try reader.kind())
            try reader.skipValue()
        }
        try reader.finish()
        #expect(kinds == [.number, .array, .object, .string])
    }

    @Test(arguments: ["[]", "[ ]"])
    func emptyArrayHasNoElement(_ text: String) throws {
        let bytes = Array(text.utf8)
        var reader = JSONReader(bytes.span)
        try reader.beginArray()
        #expect(try reader.nextElement() == false)
        try reader.finish()
    }

    @Test(arguments: ["[1,]", "[,1]", "[1 2]", "[1}", "[1", "["])
    func brokenArrayIsFoundByTheCallersLoop(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(throws: JSONError.self) {
            var reader = JSONReader(bytes.span)
            try reader.beginArray()
            while try reader.nextElement() { try reader.skipValue() }
        }
    }

    @Test(arguments: [
        #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1 "b":2}"#, #"{"a" 1}"#, #"{"a":}"#, #"{a:1}"#, #"{"a":1]"#, #"{"a":1"#,
    ])
    func brokenObjectIsFoundByTheCallersLoop(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(throws: JSONError.self) {
            var reader = JSONReader(bytes.span)
            try reader.beginObject()
            while try reader.nextKey() != nil { try reader.skipValue() }
        }
    }

    @Test(arguments: [
        (#""model""#, true), (#""mod\u0065l""#, true), (#""\u006d\u006F\u0064el""#, true), (#""Model""#, false),
        (#""mode""#, false), (#""models""#, false), (#""mod\u0065""#, false), (#""mod\u0065ls""#, false),
        (#""mod\nel""#, false), (#""""#, false),
    ])
    func keysAreComparedByTheirText(_ text: String, _ expected: Bool) throws {
        let bytes = Array(text.utf8)
        var reader = JSONReader(bytes.span)
        let key = try reader.string()
        #expect(reader.matches(key, "model") == expected)
    }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("42", 42), ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
        ("9223372036854775808", nil), ("-9223372036854775809", nil), ("99999999999999999999", nil), ("1.0", nil),
        ("1e3", nil),
    ])
    func wholeNumbersAreRead(_ text: String, _ expected: Int?) throws {
        let bytes = Array(text.utf8)
        var reader = JSONReader(bytes.span)
        #expect(try reader.integer() == expected)
        try reader.finish()
    }

    @Test(arguments: [
        (#"["\u0000"]"#, true), (#"{"\u0000":1}"#, true), (#"["\ud800"]"#, true), (#"["\udc00\ud800"]"#, true),
        (#"["\ud800\ud83d\ude00"]"#, true), (#"["\ud83d\ude00"]"#, false), (#"["\\u0000"]"#, false),
        (#"["\u0001"]"#, false), (#"["\uFFFF"]"#, false),
    ])
    func escapesThatCannotBeStoredAreNoticed(_ text: String, _ expected: Bool) throws {
        let bytes = Array(text.utf8)
        var reader = JSONReader(bytes.span)
        try reader.skipValue()
        #expect(reader.hasUnstorableEscapes == expected)
    }

    @Test func lineEndsInWhiteSpaceAreNoticed() throws {
        for (text, expected) in [("[1,\r2]", true), ("[1,\n2]", true), ("[1,\t 2]", false), (#"["\r\n"]"#, false)] {
            let bytes = Array(text.utf8)
            var reader = JSONReader(bytes.span)
            try reader.skipValue()
            #expect(reader.hasLineEnds == expected)
        }
    }

    @Test func everyErrorHasItsOwnSentence() {
        let sentences = Set(JSONError.Code.allCases.map { JSONError($0, at: 7).description })
        #expect(sentences.count == JSONError.Code.allCases.count)
        #expect(sentences.allSatisfy { $0.hasSuffix("at byte 7") })
    }
}

extension [UInt8] {
    /// The fault of the bytes as a JSON text.
    var jsonFault: JSONError? {
        do {
            try JSONReader.validate(span)
            return nil
        } catch {
            return error
        }
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: self[range], as: UTF8.self)
    }
}
