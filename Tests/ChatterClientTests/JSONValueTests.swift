import ChatterClient
import Testing

struct JSONValueTests {
    @Test func valueIsWrittenAsALiteral() {
        let value: JSONValue = ["think": true, "stop": ["a", nil], "seed": 7, "top_p": 0.5]
        #expect(
            value
                == .object([
                    "think": .bool(true), "stop": .array([.string("a"), .null]), "seed": .integer(7),
                    "top_p": .number(0.5),
                ]))
        let twice: JSONValue = ["a": 1, "a": 2]
        #expect(twice == .object(["a": .integer(2)]))
    }
}
