import ChatterdBasics
import ChatterdTestSupport
import Foundation
import Testing

struct JSONTextTests {
    @Test(arguments: [
        ("", ""), ("abc", "abc"), (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"), (#"\u0041\u00e9\u20AC"#, "Aé€"),
        (#"\ud83d\ude00"#, "😀"), (#"x\uD83D\uDE00y"#, "x😀y"), (#"\u0000"#, "\u{FFFD}"), (#"a\u0000b"#, "a\u{FFFD}b"),
        (#"\ud800"#, "\u{FFFD}"), (#"\udc00"#, "\u{FFFD}"), (#"\ud800\ud800"#, "\u{FFFD}\u{FFFD}"),
        (#"\ud800\ud83d\ude00"#, "\u{FFFD}😀"), (#"\udc00\ud800"#, "\u{FFFD}\u{FFFD}"), (#"\ud800x"#, "\u{FFFD}x"),
        (#"\ud800\n"#, "\u{FFFD}\n"), (#"\ud800\u0041"#, "\u{FFFD}A"), (#"\uFFFF\ufeff"#, "\u{FFFF}\u{FEFF}"),
        (#"\\u0000"#, #"\u0000"#), (#"\\\\n"#, #"\\n"#), (#"日\u672c語"#, "日本語"), (#"\u2028"#, "\u{2028}"),
        (#"\udbff\udfff"#, "\u{10FFFF}"), (#"\ud800\udc00"#, "\u{10000}"), (#"\u001b[0m"#, "\u{1B}[0m"),
    ])
    func insideOfAStringIsDecoded(_ raw: String, _ expected: String) {
        let bytes = Array(raw.utf8)
        var buffer = ByteBuffer()
        buffer.append(decodingJSON: bytes.span)
        #expect(buffer.array == Array(expected.utf8))
        let text = String(decodingJSON: bytes.span)
        #expect(Array(text.utf8) == Array(expected.utf8))
    }

    @Test(arguments: [
        ("", #""""#), ("abc", #""abc""#), ("\"\\/", #""\"\\/""#), ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
        ("\u{0}\u{1}\u{F}\u{10}\u{1F}", #""\u0000\u0001\u000f\u0010\u001f""#), ("\u{7F}é😀", "\"\u{7F}é😀\""),
        ("<b>&'", #""<b>&'""#), ("1234567\"", #""1234567\"""#), ("12345678\n9", #""12345678\n9""#),
        ("\u{2028}", "\"\u{2028}\""),
    ])
    func textIsEncodedWithAsFewEscapesAsAllowed(_ text: String, _ expected: String) {
        var buffer = ByteBuffer()
        buffer.append(jsonString: text)
        #expect(buffer.string == expected)
        var other = ByteBuffer()
        let bytes = Array(text.utf8)
        other.append(jsonString: bytes.span)
        #expect(other.array == buffer.array)
    }

    /// Short and long texts are escaped in different ways; each byte here has the longest escape.
    @Test(arguments: [1_023, 1_024, 1_025, 2_048, 3_000])
    func longTextIsEncodedAsAShortOne(_ count: Int) {
        var buffer = ByteBuffer()
        buffer.append(jsonString: Array(repeating: UInt8(1), count: count).span)
        buffer.append(jsonString: Array(repeating: UInt8(ascii: "a"), count: count).span)
        let escaped = String(repeating: "\\u0001", count: count)
        #expect(buffer.string == "\"\(escaped)\"\"\(String(repeating: "a", count: count))\"")
    }

    @Test(arguments: 1...20)
    func randomTextComesBackUnchanged(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let text = random.text(upTo: 40, withNUL: true)
            var buffer = ByteBuffer()
            buffer.append(jsonString: text)
            let encoded = buffer.array
            try JSONReader.validate(encoded.span)
            var reader = JSONReader(encoded.span)
            let string = try reader.string()
            try reader.finish()
            let decoded = String(decodingJSON: encoded.span.extracting(string.range))
            #expect(decoded.unicodeScalars.elementsEqual(text.unicodeScalars.map { $0.value == 0 ? "\u{FFFD}" : $0 }))
            let foreign = try JSONDecoder().decode(String.self, from: Data(encoded))
            #expect(foreign.unicodeScalars.elementsEqual(text.unicodeScalars))
        }
    }

    /// The reader agrees with Foundation, except that Foundation refuses halves of surrogate pairs, which the grammar allows.
    @Test(arguments: 1...20)
    func damagedTextsAreJudgedAsFoundationDoes(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 1000)
        for _ in 0..<200 {
            var text = Array(random.json(depth: 3).utf8)
            for _ in 0..<Int.random(in: 0...2, using: &random) where !text.isEmpty {
                let index = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text.remove(at: index)
                case 1: text.insert(SeededGenerator.punctuation[Int.random(in: 0..<16, using: &random)], at: index)
                default: text[index] = SeededGenerator.punctuation[Int.random(in: 0..<16, using: &random)]
                }
            }
            if text.hasUnstorableEscapes { continue }
            let expected = (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            #expect((text.jsonFault == nil) == expected, "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test(arguments: 1...5)
    func randomBytesNeverTrapTheReader(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 2000)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                SeededGenerator.punctuation[Int.random(in: 0..<16, using: &random)]
            }
            var reader = JSONReader(bytes.span)
            if (try? reader.skipValue()) != nil {
                #expect(reader.position <= bytes.count)
            }
            var buffer = ByteBuffer()
            buffer.append(decodingJSON: bytes.span)
            #expect(buffer.count <= 3 * bytes.count)
        }
    }
}

extension [UInt8] {
    fileprivate var hasUnstorableEscapes: Bool {
        var reader = JSONReader(span)
        return (try? reader.skipValue()) != nil && reader.hasUnstorableEscapes
    }
}
