import ChatterdHTTP
import ChatterdTestSupport
import Testing

private struct Refusal: Error, Equatable {
    let line: String
}

private func text(_ span: Span<UInt8>) -> String {
    span.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
}

/// All lines of bytes that arrive in pieces, the unterminated last one in brackets.
private func lines(of pieces: [ArraySlice<UInt8>], limit: Int = 100) -> [String] {
    var splitter = LineSplitter(limit: limit)
    var lines: [String] = []
    for piece in pieces {
        let bytes = Array(piece)
        var index = 0
        let outcome = splitter.feed(bytes.span, from: &index) { line in
            lines.append(text(line))
            return .more
        }
        if outcome == .tooLong {
            return lines + ["!"]
        }
    }
    splitter.finish { lines.append("[" + text($0) + "]") }
    return lines
}

@Suite struct LineSplitterTests {
    static let cases: [(String, [String])] = [
        ("", []), ("\n", [""]), ("a\n", ["a"]), ("a", ["[a]"]), ("a\nb\n", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
        ("a\n\nb", ["a", "", "[b]"]), ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]), ("a\r", ["[a]"]), ("\r\n", [""]),
        ("{\"a\":1}\n{\"b\":2}\n{\"c\"", ["{\"a\":1}", "{\"b\":2}", "[{\"c\"]"]), ("\u{2028}\n", ["\u{2028}"]),
    ]

    @Test(arguments: cases.indices) func bytesAreSplitAtLineFeedsWhereverTheyAreCut(_ index: Int) {
        let (input, expected) = LineSplitterTests.cases[index]
        let bytes = Array(input.utf8)
        #expect(lines(of: [bytes[...]]) == expected)
        #expect(lines(of: bytes.indices.map { bytes[$0...$0] }) == expected)
        for cut in 0...bytes.count {
            #expect(lines(of: [bytes[..<cut], bytes[cut...]]) == expected, "cut at \(cut)")
        }
    }

    @Test(arguments: [("abcd\nabcd\n", ["abcd", "abcd"]), ("ab\nabcde", ["ab", "!"]), ("abcde\n", ["!"])])
    func lineOverTheLimitIsRefusedBeforeItsEnd(_ input: String, _ expected: [String]) {
        let bytes = Array(input.utf8)
        for cut in 0...bytes.count {
            #expect(lines(of: [bytes[..<cut], bytes[cut...]], limit: 4) == expected, "cut at \(cut)")
        }
    }

    @Test func noLineIsReadAfterALineOverTheLimit() {
        var splitter = LineSplitter(limit: 1)
        var index = 0
        #expect(splitter.next([1, 2].span, from: &index) == .tooLong)
        index = 0
        #expect(splitter.next([10].span, from: &index) == .tooLong)
        #expect(splitter.carriedCount == 0)
    }

    @Test func lineWithinTheBytesIsNotCopied() {
        var splitter = LineSplitter(limit: 100)
        let bytes = Array("a\nbc\r\nd".utf8)
        var index = 0
        #expect(splitter.next(bytes.span, from: &index) == .line(0..<1))
        #expect(splitter.next(bytes.span, from: &index) == .line(2..<4))
        #expect(splitter.next(bytes.span, from: &index) == .more)
        #expect(splitter.carriedCount == 1)
        index = 0
        #expect(splitter.next([10].span, from: &index) == .carriedLine)
        #expect(text(splitter.carriedLine) == "d")
        #expect(splitter.carriedCount == 0)
    }

    @Test func stoppedConsumerContinuesAtItsPosition() {
        var splitter = LineSplitter(limit: 100)
        let bytes = Array("a\nb\nc".utf8)
        var index = 0
        var seen: [String] = []
        let first = splitter.feed(bytes.span, from: &index) { line in
            seen.append(text(line))
            return .stop
        }
        #expect(first == .stopped)
        #expect(index == 2)
        let second = splitter.feed(bytes.span, from: &index) { line in
            seen.append(text(line))
            return .more
        }
        #expect(second == .drained)
        #expect(seen == ["a", "b"])
        #expect(splitter.carriedCount == 1)
    }

    @Test func errorOfTheConsumerIsRethrown() {
        var splitter = LineSplitter(limit: 100)
        let bytes = Array("ab\ncd\n".utf8)
        var index = 0
        #expect(throws: Refusal(line: "ab")) {
            try splitter.feed(bytes.span, from: &index) { line throws(Refusal) in throw Refusal(line: text(line)) }
        }
        #expect(index == 3)
    }

    @Test func randomLinesAreReadBackHoweverTheyAreCut() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<50 {
            let expected = (0..<20).map { _ in
                String(
                    (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                        "abä😀\t".randomElement(using: &generator) ?? "x"
                    })
            }
            let bytes = Array(expected.map { $0 + "\n" }.joined().utf8)
            #expect(lines(of: generator.pieces(of: bytes, upTo: 25).map { $0[...] }, limit: 200) == expected)
        }
    }
}
