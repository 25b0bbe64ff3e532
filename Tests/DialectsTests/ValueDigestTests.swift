import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// Which values and messages count as equal when histories are compared.
struct ValueDigestTests {
    private func digest(_ json: String) throws -> ValueDigest {
        try #require(try JSONSlice(Array(json.utf8)).digest)
    }

    @Test(arguments: [
        ("{}", "{ }"), (#"{"a":1,"b":[2,3]}"#, #"{"b":[2,3],"a":1}"#), (#"{"a":null}"#, "{}"), ("1", "1.0"),
        ("0", "-0.0"),
        ("1e2", "100"), (#""é""#, #""\u00e9""#), (#"{"\u0061":1}"#, #"{"a":1}"#), (#"{"a":1,"a":2}"#, #"{"a":2}"#),
        (#"{"a":1,"a":null}"#, "{}"), ("[ 1 , 2 ]", "[1,2]"), ("12345678901234567890", "12345678901234567890"),
    ])
    func spellingsOfOneValueAreEqual(_ left: String, _ right: String) throws {
        #expect(try digest(left) == digest(right))
    }

    @Test(arguments: [
        ("{}", "[]"), ("{}", "null"), ("[]", "[[]]"), ("[1,2]", "[2,1]"), ("[1,[2]]", "[[1],2]"), ("1", #""1""#),
        ("0", "false"),
        (#"{"a":"bc"}"#, #"{"ab":"c"}"#), (#"["a","bc"]"#, #"["ab","c"]"#), (#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#),
        (#"{"a":{"b":1}}"#, #"{"a":{},"b":1}"#), ("[null]", "[]"), ("12345678901234567890", "12345678901234567891"),
        // A double whose bytes are the spelling of the other number.
        ("12345e99", "4.890965168033162e-33"),
        // Two sequences of scalars that Unicode calls equal.
        (#""é""#, #""e\u0301""#), (#""a""#, #""a ""#),
    ])
    func otherValuesDiffer(_ left: String, _ right: String) throws {
        #expect(try digest(left) != digest(right))
    }

    @Test func valueOfTheGreatestDepthHasADigest() throws {
        let deep = { (number: Int) in
            String(repeating: "[", count: 63) + "\(number)" + String(repeating: "]", count: 63)
        }
        #expect(try digest(deep(1)) != digest(deep(2)))
        #expect(try digest(deep(1)) == digest(deep(1)))
    }

    @Test(arguments: [
        ("a", "", "b", ""), ("a", #""tool_calls":[{"function":{"name":"f","arguments":{}}}]"#, "a", ""),
        (
            "", #""tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]"#, "",
            #""tool_calls":[{"function":{"name":"f","arguments":{"x":2}}}]"#
        ),
        (
            "", #""tool_calls":[{"function":{"name":"f","arguments":{}}}]"#, "",
            #""tool_calls":[{"function":{"name":"g","arguments":{}}}]"#
        ),
        (
            "a", #""tool_calls":[{"function":{"name":"bc"}}]"#, "ab", #""tool_calls":[{"function":{"name":"c"}}]"#
        ),
        ("f", #""tool_calls":[{"function":{}}]"#, "", #""tool_calls":[{"function":{"name":"f"}}]"#),
        ("a", #""images":["x","yz"]"#, "a", #""images":["xy","z"]"#),
        ("a", #""images":["x"]"#, "a", #""images":["y"]"#), ("a", #""images":["x","y"]"#, "a", #""images":["xy"]"#),
        ("a", #""images":["x"]"#, "a", ""),
    ])
    func otherMessagesDiffer(_ left: String, _ leftExtras: String, _ right: String, _ rightExtras: String) {
        #expect(compared(left, leftExtras) != compared(right, rightExtras))
    }

    @Test func messagesAgreeApartFromSpaceAndIds() {
        let call = #""tool_calls":[{"id":"1","function":{"name":"f"}}]"#
        let sameCall = #""tool_calls":[{"id":"2","function":{"arguments":{"x":null},"name":"f"}}],"thinking":"t""#
        #expect(compared(" a\n", call) == compared("a", sameCall))
    }

    private func compared(_ text: String, _ extras: String) -> ComparedMessage {
        ComparedMessage(ModelMessage(role: "user", content: text, extras: extras.isEmpty ? nil : extras))
    }
}
