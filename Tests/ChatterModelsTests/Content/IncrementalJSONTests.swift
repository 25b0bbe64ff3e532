import ChatterModels
import ChatterdTestSupport
import Foundation
import Testing

struct IncrementalJSONTests {
    private static let documents = [
        "null", "true", "false", "0", "-0", "12", "-2.5", "1e3", "1E-2", "\"\"", "[]", "{}",
        #""a\nb\u00e9\ud83d\ude00\/""#,
        #"[1, 2,[ ],{ },"x"]"#, #"{"a":{"b":[null,true,{"c":"d"}]},"é😀":-1.5e+2}"#, " \n\t[ 1 ,\r2 ] ",
        #"{"a":1,"a":2}"#, #""\ud83d""#, #""\ud83dx""#, #""\ud83d\u0041""#, #""\ude00""#,
    ]

    @Test(arguments: documents) func documentHasTheSameValueHoweverItIsSplit(_ text: String) throws {
        let bytes = Array(text.utf8)
        let whole = try StructuredContent(json: text)
        for split in 0...bytes.count {
            var parser = IncrementalJSON()
            try parser.receive(bytes[..<split])
            try parser.receive(bytes[split...])
            #expect(try parser.finish() == whole)
        }
        #expect(try StructuredContent(json: whole.json) == whole)
    }

    @Test func valuesAreThoseOfTheText() throws {
        let value = try StructuredContent(
            json:
                #"{"z":9007199254740993,"a":[1.0,-2,true,null],"s":"\u0041\ud83d\ude00\n\ud83d","big":123456789012345678901}"#
        )
        #expect(
            value == [
                "z": 9_007_199_254_740_993, "a": [.number(1), -2, true, nil], "s": "A😀\n\u{FFFD}",
                "big": .number(1.2345678901234568e+20),
            ])
        #expect(
            value.json
                == #"{"z":9007199254740993,"a":[1.0,-2,true,null],"s":"A😀\n\#u{FFFD}","big":1.2345678901234568e+20}"#)
    }

    @Test(arguments: [
        ("", JSONFault.Code.unexpectedEnd), ("[1", .unexpectedEnd), ("tru", .unexpectedEnd), ("trux", .invalidLiteral),
        ("[1,]", .unexpectedByte), ("{,}", .unexpectedByte), ("{\"a\"}", .unexpectedByte), ("[1 2]", .unexpectedByte),
        ("[}", .unexpectedByte), ("{]", .unexpectedByte), ("[1}", .unexpectedByte), ("01", .invalidNumber),
        ("1.", .invalidNumber), ("-", .invalidNumber), ("1e", .invalidNumber), ("1e999", .invalidNumber),
        ("1 1", .trailingBytes), ("\"\\x\"", .invalidEscape), ("\"\\u00g0\"", .invalidEscape),
        ("\"\n\"", .controlCharacter), ("'a'", .unexpectedByte),
        (String(repeating: "[", count: 65), .tooDeep),
    ]) func textThatIsNotJSONIsRefused(_ text: String, _ code: JSONFault.Code) {
        let error = #expect(throws: JSONFault.self) { try StructuredContent(json: text) }
        #expect(error?.code == code)
    }

    @Test(arguments: [
        [0x22, 0xFF], [0x22, 0xC3, 0x28], [0x22, 0xE0, 0x80, 0x80], [0x22, 0xED, 0xA0, 0x80], [0x22, 0xF5],
    ])
    func bytesThatAreNotUTF8AreRefused(_ bytes: [UInt8]) {
        let error = #expect(throws: JSONFault.self) { try StructuredContent(json: bytes + [0x22]) }
        #expect(error?.code == .invalidUTF8)
    }

    @Test(arguments: [1, 16, 17, 1_000]) func lastOfTwoMembersWithOneNameCounts(_ count: Int) throws {
        let names = (0..<count).map { "m\($0)" }
        let text =
            "{" + (names + names).enumerated().map { #""\#($0.element)":\#($0.offset)"# }.joined(separator: ",") + "}"
        var parser = IncrementalJSON()
        try parser.receive(text.utf8.dropLast())
        try parser.receive(",\"m0\":\"begun".utf8)
        #expect(parser.value?["m0"] == .unfinishedString("begun"))
        let content = try StructuredContent(json: text)
        #expect(
            content
                == .object(names.enumerated().map { StructuredContent.Member($0.element, .integer(count + $0.offset)) })
        )
    }

    @Test(arguments: ["-", "+1", "00", "-01", ".5", "1.e1", "1e+", "1ee1", "1.1.1", "--1", "1-1", "0x1"])
    func formThatIsNoNumberIsRefused(_ text: String) {
        #expect(throws: JSONFault.self) { try StructuredContent(json: "[\(text)]") }
    }

    @Test func faultStays() throws {
        var parser = IncrementalJSON()
        #expect(throws: JSONFault.self) { try parser.receive("[1,]".utf8) }
        #expect(throws: JSONFault.self) { try parser.receive("1]".utf8) }
        #expect(throws: JSONFault.self) { try parser.finish() }
    }

    @Test func valueSoFarHasWhatIsCertain() throws {
        var parser = IncrementalJSON()
        let steps: [(String, StructuredContent?)] = [
            ("{\"na", [:]), ("me\"", [:]), (":\"A", ["name": .unfinishedString("A")]),
            ("da\\", ["name": .unfinishedString("Ada")]), ("n", ["name": .unfinishedString("Ada\n")]),
            ("\",\"age\":3", ["name": "Ada\n"]), ("6", ["name": "Ada\n"]),
            (",\"ok\":tr", ["name": "Ada\n", "age": 36]),
            ("ue,\"l\":[1,2", ["name": "Ada\n", "age": 36, "ok": true, "l": [1]]),
            ("]}", ["name": "Ada\n", "age": 36, "ok": true, "l": [1, 2]]),
        ]
        for (text, value) in steps {
            try parser.receive(text.utf8)
            #expect(parser.value == value, "after \(text)")
        }
    }

    /// Strings and arrays only lengthen, and numbers and literals never change, at every byte of random documents.
    @Test func valueOnlyGrows() throws {
        var generator = SeededGenerator(seed: 77)
        for _ in 0..<10_000 {
            let text = generator.json(depth: 4)
            var parser = IncrementalJSON()
            var last: StructuredContent?
            for byte in text.utf8 {
                try parser.receive(CollectionOfOne(byte))
                let value = parser.value
                if let last, value.map({ last.isBeginning(of: $0) }) != true {
                    Issue.record("\(text): \(String(describing: value)) after \(last)")
                    return
                }
                last = value
            }
            let whole = try parser.finish()
            let again = try StructuredContent(json: whole.json)
            if last?.isBeginning(of: whole) == false || again != whole {
                Issue.record("\(text): \(whole)")
                return
            }
        }
    }

    /// The text that Foundation writes of the value that it reads.
    private func canonical(_ text: String) throws -> String {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed])
        let data = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed])
        return String(decoding: data, as: UTF8.self)
    }

    @Test func valuesAreThoseOfAnotherParser() throws {
        var generator = SeededGenerator(seed: 78)
        for _ in 0..<1_000 {
            let text = generator.json(depth: 4)
            let ours = try canonical(StructuredContent(json: text).json)
            let theirs = try canonical(text)
            if ours != theirs { Issue.record("\(text): \(ours)") }
        }
    }
}

extension StructuredContent {
    /// Whether a later value of the same text may be `whole`.
    fileprivate func isBeginning(of whole: StructuredContent) -> Bool {
        switch (self, whole) {
        case (.unfinishedString(let beginning), .unfinishedString(let text)),
            (.unfinishedString(let beginning), .string(let text)):
            text.unicodeScalars.starts(with: beginning.unicodeScalars)
        case (.array(let beginning), .array(let elements)):
            beginning.count <= elements.count && zip(beginning, elements).allSatisfy { $0.isBeginning(of: $1) }
        case (.object(let beginning), .object(let members)):
            beginning.count <= members.count
                && zip(beginning, members).allSatisfy { $0.name == $1.name && $0.value.isBeginning(of: $1.value) }
        default: self == whole
        }
    }
}
