import ChatterdBasics
import ChatterdRelay
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct ReplyPositionTests {
    @Test(arguments: [
        ("0", ReplyPosition()),
        ("1234", ReplyPosition(text: 1234)),
        ("120.56", ReplyPosition(text: 120, thinking: 56)),
        ("0.0.77", ReplyPosition(toolCalls: 77)),
        ("1.2.3", ReplyPosition(text: 1, thinking: 2, toolCalls: 3)),
        ("2~15", ReplyPosition(attempt: 2, text: 15)),
        ("1234-end", ReplyPosition(text: 1234, isEnd: true)),
        ("3~0.9-end", ReplyPosition(attempt: 3, thinking: 9, isEnd: true)),
        (
            "999999999~999999999999999.999999999999999.999999999999999-end",
            ReplyPosition(
                attempt: 999_999_999, text: 999_999_999_999_999, thinking: 999_999_999_999_999,
                toolCalls: 999_999_999_999_999, isEnd: true)
        ),
    ])
    func positionHasOneText(text: String, position: ReplyPosition) {
        #expect(ReplyPosition(parsing: text) == position)
        #expect(Self.text(of: position) == text)
    }

    @Test(arguments: [
        "", " ", "-", "~", ".", "-end", "+1", "-1", "01", "00", "1 ", " 1", "1\n", "0x1", "1e3", "１", "1.", ".1",
        "1..2", "1.2.",
        "1.2.3.4", "1~", "~1", "0~1", "01~1", "1~1", "1~~2", "2~", "2~-end", "2~.1", "1000000000~1", "5.0", "5.0.0",
        "5.3.0",
        "5.03", "1-", "1-e", "1-END", "1-end ", "1-end-end", "1~2~3", "-end1", "1000000000000000",
        "9223372036854775807",
        "9223372036854775808", "99999999999999999999999999", "0.1000000000000000",
        String(repeating: "1", count: 65), String(repeating: "0", count: 1_000_000),
    ])
    func otherTextIsNoPosition(text: String) {
        #expect(ReplyPosition(parsing: text) == nil)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func positionIsParsedFromItsText(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            func number() -> Int {
                Int.random(in: 0..<(1 << Int.random(in: 0..<49, using: &random)), using: &random)
            }
            let position = ReplyPosition(
                attempt: Int.random(in: 1...3, using: &random), text: number(), thinking: number(),
                toolCalls: number(), isEnd: Bool.random(using: &random))
            #expect(ReplyPosition(parsing: Self.text(of: position)) == position)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func parsedPositionIsPrintedUnchanged(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("0123456789~.-end".utf8)
        for _ in 0..<5_000 {
            let length = Int.random(in: 0...12, using: &random)
            let bytes = (0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
            guard let position = ReplyPosition(parsing: bytes.span) else { continue }
            #expect(Self.text(of: position) == String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test func largePositionIsPrinted() {
        let position = ReplyPosition(attempt: .max, text: .max, thinking: .max, toolCalls: .max, isEnd: true)
        #expect(Self.text(of: position).utf8.count == 4 * 19 + 7)
    }

    private static func text(of position: ReplyPosition) -> String {
        var buffer = ByteBuffer()
        position.append(to: &buffer)
        return buffer.string
    }
}
