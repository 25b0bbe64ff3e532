import ChatterdBasics
import ChatterdIdentity
import Testing

@testable import ChatterdChat

/// Which values and messages count as equal when histories are compared.
struct HistoryDigestTests {
    private func bytes(_ json: String) throws -> [UInt8] {
        let text = Array(json.utf8)
        var reader = JSONReader(text.span)
        var all = ComparableBytes()
        try all.append(valueOf: &reader)
        try reader.finish()
        return all.bytes
    }

    @Test func requestsOfOtherOwnersAndPathsHaveOtherDigests() {
        func digest(_ body: String, _ path: String, _ app: String) -> String {
            HistoryDigest(ofRequest: body.utf8.span, to: path, by: Owner(app: app)).text
        }
        let first = digest("{}", "/a", "app")
        #expect(first == digest("{}", "/a", "app"))
        #expect(first != digest("{}", "/a", "other") && first != digest("{}", "/b", "app"))
        #expect(first != digest("{} ", "/a", "app"))
    }

    @Test(arguments: [
        ("{}", "{ }"), (#"{"a":1,"b":[2,3]}"#, #"{"b":[2,3],"a":1}"#), (#"{"a":null}"#, "{}"), ("1", "1.0"),
        ("0", "-0.0"),
        ("1e2", "100"), (#""é""#, #""\u00e9""#), (#"{"\u0061":1}"#, #"{"a":1}"#), (#"{"a":1,"a":2}"#, #"{"a":2}"#),
        (#"{"a":1,"a":null}"#, "{}"), ("[ 1 , 2 ]", "[1,2]"), ("12345678901234567890", "12345678901234567890"),
    ])
    func spellingsOfOneValueAreEqual(_ left: String, _ right: String) throws {
        #expect(try bytes(left) == bytes(right))
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
        #expect(try bytes(left) != bytes(right))
    }

    @Test func valueOfTheGreatestDepthIsComparable() throws {
        let deep = { (number: Int) in
            String(repeating: "[", count: 63) + "\(number)" + String(repeating: "]", count: 63)
        }
        #expect(try bytes(deep(1)) != bytes(deep(2)))
        #expect(try bytes(deep(1)) == bytes(deep(1)))
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

    @Test(arguments: [" a b", "a b\t", "\u{A0}a b", "a b\u{3000}", "\n a b \r\n", "a b"])
    func spaceCountsOnlyWithinAText(_ text: String) {
        #expect(compared(text, "") == compared("a b", ""))
        #expect(compared(text, "") != compared("ab", ""))
        #expect(compared(text + "é", "") != compared("a b", ""))
    }

    @Test func nameOfAParticipantCountsButForTheModel() {
        #expect(compared("a", #""name":"ada""#) != compared("a", #""name":"bob""#))
        #expect(compared("a", #""name":"ada""#) != compared("a", #""images":["ada"]"#))
        let reply = ModelMessage(role: "assistant", content: "a", extras: #""name":"helper""#)
        #expect(HistoryDigest(of: reply) == HistoryDigest(of: ModelMessage(role: "assistant", content: "a")))
    }

    private func compared(_ text: String, _ extras: String) -> HistoryDigest {
        HistoryDigest(of: ModelMessage(role: "user", content: text, extras: extras.isEmpty ? nil : extras))
    }

    /// It is in rows of the database, so that it is the same in each version.
    @Test func digestIsTheSameInEveryProcess() {
        let shop = HistoryDigest(of: Owner(app: "shop"))
        let call = #""tool_calls":[{"function":{"name":"f","arguments":{"b":[1,"x"],"a":1e-7}}}]"#
        let history = shop.followed(by: ModelMessage(role: "user", content: " Hi\n", extras: #""images":["AAAA"]"#))
            .followed(by: ModelMessage(role: "assistant", content: "", extras: call))
        #expect(history.text == "bf2a9a78cb70a0f8b516d23a3a6c2848")
        #expect(HistoryDigest(parsing: history.text) == history)
        #expect(HistoryDigest(parsing: String(history.text.dropLast())) == nil)
        #expect(HistoryDigest(parsing: String(history.text.dropLast()) + "x") == nil)
    }

    @Test func ownersHaveDifferentHistories() {
        let owners = [
            Owner(app: "a"), Owner(app: "b"), Owner(app: "a", person: "b"), Owner(app: "a", person: "c"),
            Owner(app: "ab"),
        ]
        #expect(Set(owners.map { HistoryDigest(of: $0) }).count == owners.count)
    }

    @Test func orderOfMessagesCounts() {
        let (one, two) = (ModelMessage(role: "user", content: "1"), ModelMessage(role: "user", content: "2"))
        let start = HistoryDigest(of: Owner(app: "shop"))
        #expect(start.followed(by: one).followed(by: two) != start.followed(by: two).followed(by: one))
        #expect(start.followed(by: one) != start)
    }
}
