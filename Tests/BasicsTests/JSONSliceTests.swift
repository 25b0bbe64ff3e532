import ChatterdBasics
import ChatterdTestSupport
import Testing

/// The values in a JSON text, one by one.
struct JSONSliceTests {
    private func slice(_ text: String) throws -> JSONSlice {
        try JSONSlice(Array(text.utf8))
    }

    private func member(_ json: String) throws -> JSONSlice {
        let members = try #require(try slice("{\"a\":\(json)}").members(first: 1))
        return try #require(members.first?.value)
    }

    @Test(arguments: ["{", "{} x", "", "{\"a\":}"])
    func textThatIsNotJSONIsRefused(_ text: String) {
        #expect(throws: JSONError.self) { try slice(text) }
    }

    @Test func textThatIsNotUTF8IsRefused() {
        #expect(throws: JSONError.self) { try JSONSlice(Array("\"".utf8) + [0xFF] + Array("\"".utf8)) }
    }

    @Test func gettersReadOneTypeEach() throws {
        for json in ["{}", "[]", #""x""#, "7", "true", "null"] {
            let value = try member(json)
            let text: String? = json.hasPrefix("\"") ? "x" : nil
            #expect((value.members(first: 1) != nil) == (json == "{}"))
            #expect((value.elements(first: 1) != nil) == (json == "[]"))
            #expect(value.string == text && value.storableString == text)
            #expect(value.integer == (json == "7" ? 7 : nil))
            #expect(value.boolean == (json == "true" ? true : nil))
            #expect(value.isNull == (json == "null"))
            #expect(value.bytes == Array(json.utf8) && value.json == value.bytes)
        }
        #expect(try member("false").boolean == false)
    }

    @Test(arguments: ["1.5", "1e2", "99999999999999999999"])
    func otherNumbersAreNotWhole(_ json: String) throws {
        #expect(try member(json).integer == nil)
    }

    @Test(
        arguments: [
            ("4096", 4_096), ("4096.0", 4_096), ("4.096e3", 4_096), ("4.096E+3", 4_096), ("40960e-1", 4_096),
            ("-1", -1), ("-1.0", -1), ("-10e-1", -1), ("0", 0), ("-0.0", 0), ("0e999999999999999999999", 0),
            ("0.000e-9", 0), ("1e18", 1_000_000_000_000_000_000), ("1000e-3", 1), ("0.001e3", 1), ("12.50e1", 125),
            ("9223372036854775807", Int.max), ("9223372036854775807.0", Int.max), ("-9223372036854775808", Int.min),
            ("9223372036854775808", nil), ("9.223372036854775808e18", nil), ("-9223372036854775809", nil),
            ("1e19", nil), ("1e400", nil), ("-1e400", nil), ("1e-400", nil), ("1e99999999999999999999999", nil),
            ("1e-99999999999999999999999", nil), ("1.5", nil), ("4096.5", nil), ("1e-1", nil), ("0.1", nil),
            ("12.5", nil), ("\"4096\"", nil), ("true", nil), ("[1]", nil), ("{}", nil),
        ] as [(String, Int?)])
    func wholeNumberMayHaveAPoint(_ json: String, _ number: Int?) throws {
        #expect(try member(json).wholeNumber == number)
    }

    @Test func wholeNumberOfManyDigitsIsRead() throws {
        let zeros = String(repeating: "0", count: 100_000)
        #expect(try member("7." + zeros).wholeNumber == 7)
        #expect(try member("0." + zeros + "7e100001").wholeNumber == 7)
        #expect(try member("7" + zeros + "e-100000").wholeNumber == 7)
        #expect(try member("7" + zeros).wholeNumber == nil)
        #expect(try member("7." + zeros + "1").wholeNumber == nil)
    }

    @Test(arguments: PeerNumber.all)
    func wholeNumberOfAnIntegerIsTheSame(_ number: PeerNumber) throws {
        let value = try member(number.text)
        #expect(value.wholeNumber == value.integer)
    }

    @Test(arguments: PeerNumber.all)
    func numberOutOfBoundsIsNoCount(_ number: PeerNumber) throws {
        #expect(try member(number.text).count == number.count)
    }

    @Test(arguments: [#"a\u0000b"#, #"\ud800"#])
    func textThatCannotBeStoredIsNoName(_ text: String) throws {
        let value = try member("\"\(text)\"")
        #expect(value.storableString == nil)
        #expect(value.string?.contains("\u{FFFD}") == true)
        #expect(value.bytes == Array("\"\(text)\"".utf8))
        #expect(value.json != value.bytes)
    }

    @Test func valuesAreThoseOfEachLevel() throws {
        let value = try slice(#" {"a":[1, [2] ,{"b":3}],"\u0063":null} "#)
        let members = try #require(value.members(first: 9))
        #expect(members.map(\.name) == ["a", "c"])
        let elements = try #require(members[0].value.elements(first: 9))
        #expect(elements.map(\.kind) == [.number, .array, .object])
        #expect(elements[1].elements(first: 9)?.map(\.integer) == [2])
        #expect(elements[2].last("b", .number)?.integer == 3)
    }

    @Test func membersAndElementsEndAtTheLimit() throws {
        #expect(try slice("[1,2,3]").elements(first: 2)?.map(\.integer) == [1, 2])
        #expect(try slice(#"{"a":1,"b":2,"a":3}"#).members(first: 2)?.map(\.name) == ["a", "b"])
        #expect(try slice(#"{"a":1,"b":2,"a":3}"#).members(first: .max)?.map(\.name) == ["a", "b", "a"])
    }

    @Test func longNameIsLeftOut() throws {
        let value = try slice(#"{"abc":1,"abcd":2}"#)
        #expect(value.members(first: 9, names: 3)?.map(\.name) == ["abc", "…"])
    }

    @Test func lastMemberOfATypeIsFound() throws {
        let value = try slice(#"{"a":"x","a":"y","a":7,"b":null}"#)
        #expect(value.last("a", .string)?.string == "y" && value.last("a", .number)?.integer == 7)
        #expect(value.last("b", .string) == nil && value.last("c", .string) == nil)
        #expect(try slice("[]").last("a", .string) == nil)
    }

    @Test func nextValueOfATextIsCopied() throws {
        let text = Array(#"[ {"a":1} , 2 ]"#.utf8)
        var reader = JSONReader(text.span)
        try reader.beginArray()
        _ = try reader.nextElement()
        let value = try JSONSlice(copying: &reader)
        #expect(value.bytes == Array(#"{"a":1}"#.utf8) && value.last("a", .number)?.integer == 1)
        #expect(try reader.nextElement())
    }
}
