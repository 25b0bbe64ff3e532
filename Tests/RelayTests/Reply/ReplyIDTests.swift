import ChatterdRelay
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct ReplyIDTests {
    @Test func idIsParsedFromItsText() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<1000 {
            let id = ReplyID(using: &random)
            let text = id.description
            #expect(text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
            #expect(ReplyID(parsing: text) == id)
            #expect(ReplyID(parsing: text.uppercased()) == id)
        }
    }

    @Test func bytesAreInOrder() throws {
        let id = try #require(ReplyID(parsing: "00112233-4455-6677-8899-aAbBcCdDeEfF"))
        #expect(id.high == 0x0011_2233_4455_6677)
        #expect(id.low == 0x8899_aabb_ccdd_eeff)
        #expect(id.description == "00112233-4455-6677-8899-aabbccddeeff")
    }

    @Test(arguments: [
        "", "1", "00112233445566778899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeefff", "00112233-4455-6677-8899-aabbccddeefg",
        "0011-22334455-6677-8899-aabbccddeeff", "{0112233-4455-6677-8899-aabbccddeef}",
        "00112233-4455-6677-8899-aabbccddeeé", "+0112233-4455-6677-8899-aabbccddeeff",
    ])
    func otherTextIsNoID(_ text: String) {
        #expect(ReplyID(parsing: text) == nil)
    }
}
