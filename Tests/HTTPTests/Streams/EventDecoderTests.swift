import ChatterdBasics
import ChatterdHTTP
import ChatterdTestSupport
import Testing

/// The events that a decoder finds in pieces of a stream: `name|data|id` for each one.
private func events(in pieces: [ArraySlice<UInt8>], limits: EventLimits = EventLimits()) throws(HTTPError) -> [String] {
    var decoder = EventDecoder(limits: limits)
    var events: [String] = []
    for piece in pieces {
        let bytes = Array(piece)
        var index = 0
        while try decoder.next(bytes.span, from: &index) {
            let data = decoder.data.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            events.append("\(decoder.name)|\(data)|\(decoder.lastEventID)")
        }
    }
    return events
}

@Suite struct EventDecoderTests {
    static let cases: [(String, [String])] = [
        ("", []), ("\n\n\n", []), ("data: a\n\n", ["message|a|"]), ("data:a\n\n", ["message|a|"]),
        ("data:  a\n\n", ["message| a|"]), ("data:\ta\n\n", ["message|\ta|"]), ("data\n\n", ["message||"]),
        ("data:\n\n", ["message||"]), ("data\ndata\n\n", ["message|\n|"]), ("data: a\ndata: b\n\n", ["message|a\nb|"]),
        ("data: a\n", []), ("data: a", []), ("data: a\r\r", ["message|a|"]), ("data: a\r\n\r\n", ["message|a|"]),
        ("data: a\r\ndata: b\rdata: c\n\r", ["message|a\nb\nc|"]), ("data: a\n\r\n", ["message|a|"]),
        ("data: a\r\n\ndata: b\r\n\r\n", ["message|a|", "message|b|"]),
        ("event: x\ndata: a\n\ndata: b\n\n", ["x|a|", "message|b|"]), ("event: x\n\ndata: a\n\n", ["message|a|"]),
        ("event: x\nevent: y\ndata: a\n\n", ["y|a|"]), ("event:\ndata: a\n\n", ["message|a|"]),
        ("id: 1\ndata: a\n\ndata: b\n\n", ["message|a|1", "message|b|1"]), ("id\ndata: a\n\n", ["message|a|"]),
        ("id: 1\n\ndata: a\n\n", ["message|a|1"]),
        ("id: 1\ndata: a\n\nid:\ndata: b\n\n", ["message|a|1", "message|b|"]),
        ("id: 1\nid: a\0b\ndata: a\n\n", ["message|a|1"]), (": comment\n\n:\n\ndata: a\n\n", ["message|a|"]),
        (":data: x\ndata: a\n:x\ndata: b\n\n", ["message|a\nb|"]), ("Data: a\n\n", []), (" data: a\n\n", []),
        ("data : a\n\n", []), ("other: x\ndata: a:b\n\n", ["message|a:b|"]), ("retry: 10\ndata: a\n\n", ["message|a|"]),
        ("\u{FEFF}data: a\n\n", ["message|a|"]), ("\u{FEFF}\u{FEFF}data: a\n\n", []),
        ("data: a\n\n\u{FEFF}data: b\n\n", ["message|a|"]), ("\u{FEFF}\n\ndata: a\n\n", ["message|a|"]),
        ("data: ä😀\u{2028}x\n\n", ["message|ä😀\u{2028}x|"]),
        ("data: YHOO\ndata: +2\ndata: 10\n\n", ["message|YHOO\n+2\n10|"]),
        ("data: [DONE]\n\n", ["message|[DONE]|"]),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            ["message|first event|1", "message|second event|"]
        ),
    ]

    @Test(arguments: cases.indices) func streamIsReadWhereverItIsSplit(_ index: Int) throws {
        let (input, expected) = EventDecoderTests.cases[index]
        let bytes = Array(input.utf8)
        #expect(try events(in: [bytes[...]]) == expected)
        #expect(try events(in: bytes.indices.map { bytes[$0...$0] }) == expected)
        for cut in 0...bytes.count {
            #expect(try events(in: [bytes[..<cut], bytes[cut...]]) == expected, "cut at \(cut)")
        }
    }

    @Test func encodedEventsAreReadBackHoweverTheyAreSplit() throws {
        var generator = SeededGenerator(seed: 4)
        let alphabet: [Character] = ["a", ":", " ", "\n", "\r", "\r\n", "ä", "😀", "\t", "\u{2028}", "{", "0"]
        for _ in 0..<100 {
            var buffer = ByteBuffer()
            var expected: [String] = []
            for id in 0..<Int.random(in: 1...6, using: &generator) {
                let data = String(
                    (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                        alphabet.randomElement(using: &generator) ?? "x"
                    })
                let name = Bool.random(using: &generator) ? EventName.error : nil
                let bytes = Array(data.utf8)
                EventEncoder.append(name: name, data: bytes.span, to: &buffer) { $0.append(decimal: id) }
                EventEncoder.append(comment: data, to: &buffer)
                expected.append("\(name?.text ?? "message")|\(normalized(data))|\(id)")
            }
            #expect(try events(in: generator.pieces(of: buffer.array, upTo: 15).map { $0[...] }) == expected)
        }
    }

    @Test func randomStreamsAreReadAsTheStandardSays() throws {
        var generator = SeededGenerator(seed: 9)
        let fragments = [
            "data", "data:", "data: ", "event: x", "event:", "id: 7", "id:", "id: \0", "retry: 5", ":", " ", "a",
            "\u{FEFF}",
            "é😀", "\n", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "\n\r", "\u{2028}", "datax: ", "Data: ",
        ].map { Array($0.utf8) }
        var count = 0
        for _ in 0..<100_000 {
            var stream: [UInt8] = []
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                stream += fragments[Int.random(in: 0..<fragments.count, using: &generator)]
            }
            let expected = EventReference.events(in: stream)
            let found = try events(in: generator.pieces(of: stream, upTo: stream.count).map { $0[...] })
            // A comparison in `#expect` would cost more than the decoding.
            if found != expected {
                Issue.record("\(String(decoding: stream, as: UTF8.self).debugDescription): \(found), not \(expected)")
                break
            }
            count += found.count
        }
        #expect(count > 5_000)
    }

    /// Line ends arrive as LF.
    private func normalized(_ data: String) -> String {
        var bytes: [UInt8] = []
        var isAfterReturn = false
        for byte in data.utf8 {
            if byte == 13 || byte == 10 {
                if byte == 13 || !isAfterReturn {
                    bytes.append(10)
                }
            } else {
                bytes.append(byte)
            }
            isAfterReturn = byte == 13
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [
        ("5", 5), ("0", 0), ("", nil), ("-1", nil), ("1.5", nil), ("x", nil), ("99999999999999999999", nil),
    ])
    func retryTimeHasDigitsOnly(_ text: String, _ expected: Int?) throws {
        var decoder = EventDecoder()
        var index = 0
        let bytes = Array("retry: \(text)\n".utf8)
        #expect(try !decoder.next(bytes.span, from: &index))
        #expect(decoder.retry == expected)
    }

    @Test func lineOverTheLimitIsRefusedBeforeItsEnd() throws {
        var limits = EventLimits()
        limits.line = 10
        let bytes = Array("data: abcde".utf8)
        for cut in 0...bytes.count {
            #expect(throws: HTTPError(.lineTooLong)) {
                try events(in: [bytes[..<cut], bytes[cut...]], limits: limits)
            }
        }
        #expect(try events(in: [Array("data: abcd\n\n".utf8)[...]], limits: limits) == ["message|abcd|"])
    }

    @Test func eventOverTheLimitIsRefused() throws {
        var limits = EventLimits()
        limits.data = 8
        #expect(try events(in: [Array("data: abc\ndata: def\n\n".utf8)[...]], limits: limits) == ["message|abc\ndef|"])
        #expect(throws: HTTPError(.eventTooLarge)) {
            try events(in: [Array("data: abc\ndata: defgh\n\n".utf8)[...]], limits: limits)
        }
        #expect(throws: HTTPError(.eventTooLarge)) {
            try events(in: [Array(String(repeating: "data\n", count: 10).utf8)[...]], limits: limits)
        }
    }

    @Test func incompleteEventIsReported() throws {
        var decoder = EventDecoder()
        #expect(!decoder.isInsideEvent)
        for (text, isInside) in [
            ("da", true), ("ta: x\n", true), ("\n", false), (":", false), (" c\n", false), ("data\n", true),
        ] {
            var index = 0
            let bytes = Array(text.utf8)
            while try decoder.next(bytes.span, from: &index) {}
            #expect(decoder.isInsideEvent == isInside)
        }
    }

    @Test func bytesThatAreNotUTF8ComeThrough() throws {
        var decoder = EventDecoder()
        var index = 0
        let bytes: [UInt8] = Array("data: ".utf8) + [0xFF, 0x00, 0xC3] + Array("\n\n".utf8)
        #expect(try decoder.next(bytes.span, from: &index))
        #expect(decoder.data.array == [0xFF, 0x00, 0xC3])
    }

    @Test(arguments: [true, false])
    func fieldErrorCountsOnlyInTheRequestedField(isAskedFor: Bool) throws {
        var decoder = EventDecoder(readsErrorField: isAskedFor)
        let bytes = Array("error: {}\n\ndata: a\n\n".utf8)
        var index = 0
        #expect(try decoder.next(bytes.span, from: &index))
        #expect(decoder.name == (isAskedFor ? "error" : "message"))
        #expect(decoder.data.array == Array((isAskedFor ? "{}" : "a").utf8))
        #expect(try decoder.next(bytes.span, from: &index) == isAskedFor)
        #expect(!isAskedFor || decoder.name == "message")
    }
}
