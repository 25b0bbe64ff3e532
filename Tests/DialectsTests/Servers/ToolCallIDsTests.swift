import Testing

@testable import ChatterdDialects

/// Which call a result belongs to.
struct ToolCallIDsTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test(arguments: [
        ("b", "", "b", true), ("", "f", "a", true), ("", "", "a", true), ("", "h", "call_1", false),
        // The history of a client may be stored with other ids.
        ("x", "g", "b", true), ("x", "", "x", false), ("x", "h", "x", false),
    ])
    func resultBelongsToItsCall(_ id: String, _ name: String, _ call: String, _ isKnown: Bool) {
        var calls = ToolCallIDs()
        _ = calls.id(ofCall: bytes("a"), name: bytes("f"))
        _ = calls.id(ofCall: bytes("b"), name: bytes("g"))
        let found = calls.id(ofResult: bytes(id), name: bytes(name))
        #expect(found.id == bytes(call) && found.isKnown == isKnown)
    }

    @Test func secondResultOfACallBelongsToNoOther() {
        var calls = ToolCallIDs()
        _ = calls.id(ofCall: bytes("a"), name: bytes("f"))
        _ = calls.id(ofCall: bytes("b"), name: bytes("f"))
        #expect(calls.id(ofResult: bytes("a"), name: bytes("f")).isKnown)
        #expect(!calls.id(ofResult: bytes("a"), name: bytes("f")).isKnown)
        #expect(calls.id(ofResult: bytes("b"), name: []).isKnown)
    }

    @Test func resultOfAnUnknownCallTakesNoCallOfSeveral() {
        var calls = ToolCallIDs()
        _ = calls.id(ofCall: bytes("a"), name: bytes("f"))
        _ = calls.id(ofCall: bytes("b"), name: bytes("f"))
        #expect(!calls.id(ofResult: bytes("x"), name: bytes("f")).isKnown)
        #expect(calls.id(ofResult: bytes("b"), name: bytes("f")).isKnown)
        #expect(calls.id(ofResult: bytes("x"), name: []).id == bytes("a"))
    }

    @Test func idsThatAreMadeAreNew() {
        var calls = ToolCallIDs()
        let made = calls.id(ofCall: [], name: bytes("f"))
        #expect(made == bytes("call_1") && calls.id(ofCall: [], name: bytes("f")) == bytes("call_2"))
        #expect(calls.id(ofResult: [], name: bytes("f")).id == made)
    }
}
