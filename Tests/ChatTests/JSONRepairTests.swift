import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct JSONRepairTests {
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"b"}"#), (#"{"a":"x\u0000y"}"#, #"{"a":"x\ufffdy"}"#),
        (#"{"a":"\ud800"}"#, #"{"a":"\ufffd"}"#),
        (#"{"a":"\ud800\ud83d\ude00"}"#, #"{"a":"\ufffd\ud83d\ude00"}"#), (#"{"a":"\\u0000"}"#, #"{"a":"\\u0000"}"#),
        (#"{"\u0000":"\"\u0000\""}"#, #"{"\ufffd":"\"\ufffd\""}"#), ("{\r\n\"a\":\r1}", "{  \"a\": 1}"),
        (#"{"a":"\r\n"}"#, #"{"a":"\r\n"}"#), (#"{"a":"é\udc00日"}"#, #"{"a":"é\ufffd日"}"#),
    ])
    func onlyUnstorableCharactersAreReplaced(_ text: String, _ expected: String) {
        let bytes = Array(text.utf8)
        var buffer = ByteBuffer()
        buffer.append(repairingJSON: bytes.span)
        #expect(buffer.string == expected)
    }

    @Test(arguments: 1...20)
    func repairedLineNeedsNoRepairAndHasTheSameText(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pieces: [[UInt8]] = [
            Array("text ".utf8), Array("é日😀".utf8), Array(#"\n\"\\"#.utf8), Array(#"\u0000"#.utf8),
            Array(#"\ud800"#.utf8),
            Array(#"\udc00"#.utf8), Array(#"\ud83d\ude00"#.utf8), Array(#"\u0041"#.utf8), [0xFF], [0xE2, 0x82],
            [0xF0, 0x9F],
            [0xED, 0xA0, 0x80], [0xC3], Array("/".utf8),
        ]
        let spaces = ["", " ", "\r", "\n", "\r\n", "\t"]
        for _ in 0..<200 {
            let space = { Array(spaces[Int.random(in: 0..<spaces.count, using: &random)].utf8) }
            var line =
                space() + Array("{".utf8) + space() + Array("\"message\":".utf8) + space()
                + Array("{\"content\":\"".utf8)
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                line += pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }
            line += Array("\"".utf8) + space() + Array("}}".utf8) + space()
            let before = try AnswerLine(line.span)
            var buffer = ByteBuffer()
            buffer.append(repairingJSON: line.span)
            let repaired = buffer.array
            let after = try AnswerLine(repaired.span)
            #expect(!after.needsRepair)
            #expect(repaired.summary(of: after) == line.summary(of: before))
            if !before.needsRepair { #expect(repaired == line) }
        }
    }
}
