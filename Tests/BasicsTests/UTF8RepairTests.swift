import ChatterdBasics
import ChatterdTestSupport
import Testing

struct UTF8RepairTests {
    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xE0, 0xA0], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x41], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFF], [0xFE, 0xFF],
            [0xF1, 0x80, 0xE1, 0x80, 0xC2, 0x62, 0x80, 0x63, 0x80, 0xBF],
        ] as [[UInt8]])
    func malformedSequenceIsFoundAndReplaced(_ bytes: [UInt8]) {
        for padding in [0, 1, 7, 8, 9, 16] {
            let text = [UInt8](repeating: 0x61, count: padding) + bytes + [UInt8](repeating: 0x62, count: padding)
            #expect(text.isUTF8 == false)
            #expect(text.repaired == Array(String(decoding: text, as: UTF8.self).utf8))
        }
    }

    @Test(arguments: [
        "", "a", "12345678", "é", "1234567é", "12345678é9", "日本語", "😀", "\u{10FFFF}\u{7FF}\u{800}\u{FFFF}\u{10000}",
        "\u{0}",
    ])
    func wellFormedTextIsUnchanged(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(bytes.isUTF8)
        #expect(bytes.repaired == bytes)
    }

    @Test(arguments: 1...20)
    func randomBytesAreRepairedAsTheStandardLibraryDoes(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 3000)
        let likely: [UInt8] = [
            0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0x8F,
        ]
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                likely[Int.random(in: 0..<likely.count, using: &random)]
            }
            let expected = Array(String(decoding: bytes, as: UTF8.self).utf8)
            #expect(bytes.repaired == expected)
            #expect(bytes.isUTF8 == (expected == bytes))
        }
    }
}

extension [UInt8] {
    fileprivate var isUTF8: Bool { UTF8Repair.isValid(span) }

    fileprivate var repaired: [UInt8] {
        var buffer = ByteBuffer()
        buffer.append(repairingUTF8: span)
        return buffer.array
    }
}
