import ChatterdBasics
import ChatterdHTTP
import ChatterdTestSupport
import Testing

@Suite struct BodyDecoderTests {
    @Test func dataIsARangeOfTheBytesGiven() throws {
        var decoder = try BodyDecoder(framing: .chunked)
        let bytes = latin1("3\r\nabc\r\n0\r\n\r\nrest")
        var index = 0
        #expect(try decoder.next(bytes.span, from: &index) == .data(3..<6))
        #expect(index == 6)
        #expect(try decoder.next(bytes.span, from: &index) == .end)
        #expect(index == 13)
        #expect(decoder.isComplete)
    }

    @Test(arguments: [
        (BodyFraming.chunked, "3\r\nabc\r\n00a;x=y\r\n0123456789\r\n1\r\n!\r\n0\r\nT: 1\r\n\r\nrest"),
        (.length(14), "abc0123456789!rest"), (.untilClose, "abc0123456789!"),
    ])
    func copiedDataIsTheSameForEachCut(framing: BodyFraming, text: String) throws {
        let bytes = latin1(text)
        for cut in Cuts.halves(of: bytes.count) {
            var decoder = try BodyDecoder(framing: framing)
            var buffer = ByteBuffer()
            var used = 0
            var index = 0
            let first = Array(bytes[..<cut])
            _ = try decoder.copyData(of: first.span, from: &index, to: &buffer)
            used += index
            index = 0
            let second = Array(bytes[cut...])
            let isComplete = try decoder.copyData(of: second.span, from: &index, to: &buffer)
            used += index
            #expect(buffer.string == "abc0123456789!")
            #expect(isComplete == (framing != .untilClose))
            #expect(used == bytes.count - (framing == .untilClose ? 0 : 4))
        }
    }

    @Test func copiedDataEndsBeforeAnError() throws {
        var decoder = try BodyDecoder(framing: .chunked)
        var buffer = ByteBuffer()
        var index = 0
        let bytes = latin1("3\r\nabc\r\n2\r\nde!")
        #expect(throws: HTTPError(.malformedChunkEnd)) {
            try decoder.copyData(of: bytes.span, from: &index, to: &buffer)
        }
        #expect(buffer.string == "abcde")
    }

    @Test func lengthIsCompleteWithItsLastByte() throws {
        var decoder = try BodyDecoder(framing: .length(2))
        #expect(!decoder.isComplete)
        var index = 0
        #expect(try decoder.next([1, 2, 3].span, from: &index) == .data(0..<2))
        #expect(decoder.isComplete)
        #expect(try decoder.next([1, 2, 3].span, from: &index) == .end)
        #expect(index == 2)
    }

    @Test(arguments: [BodyFraming.none, .length(0)]) func emptyBodyIsCompleteAtOnce(_ framing: BodyFraming) throws {
        var decoder = try BodyDecoder(framing: framing)
        #expect(decoder.isComplete)
        var index = 0
        #expect(try decoder.next([1].span, from: &index) == .end)
        #expect(index == 0)
        try decoder.endOfInput()
    }

    @Test func announcedLengthOverTheLimitIsRefusedAtOnce() {
        var limits = BodyLimits()
        limits.body = 4
        #expect(throws: HTTPError(.bodyTooLarge)) { try BodyDecoder(framing: .length(5), limits: limits) }
    }

    @Test func bodyUntilCloseHasALimit() throws {
        var limits = BodyLimits()
        limits.body = 4
        var decoder = try BodyDecoder(framing: .untilClose, limits: limits)
        var index = 0
        #expect(try decoder.next([1, 2, 3, 4].span, from: &index) == .data(0..<4))
        #expect(try decoder.next([1, 2, 3, 4].span, from: &index) == .more)
        index = 0
        #expect(throws: HTTPError(.bodyTooLarge)) { try decoder.next([5].span, from: &index) }
    }

    @Test func endOfTheConnectionEndsABodyUntilClose() throws {
        var decoder = try BodyDecoder(framing: .untilClose)
        #expect(!decoder.isComplete)
        try decoder.endOfInput()
        #expect(decoder.isComplete)
    }

    @Test(arguments: [BodyFraming.length(3), .chunked]) func endOfTheConnectionTruncatesABody(
        _ framing: BodyFraming
    ) throws {
        var decoder = try BodyDecoder(framing: framing)
        #expect(throws: HTTPError(.truncated)) { try decoder.endOfInput() }
    }

    @Test func framedBodyIsReadBackHoweverItIsSplit() throws {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<50 {
            var buffer = ByteBuffer()
            var data: [UInt8] = []
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                let piece = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
                let chunk = ChunkFraming.begin(in: &buffer)
                buffer.append(piece)
                ChunkFraming.end(chunk, in: &buffer)
                data += piece
            }
            ChunkFraming.appendLast(to: &buffer)

            var decoder = try BodyDecoder(framing: .chunked)
            var decoded: [UInt8] = []
            for piece in generator.pieces(of: buffer.array, upTo: 12) {
                let piece = Array(piece)
                var index = 0
                while case .data(let range) = try decoder.next(piece.span, from: &index) {
                    decoded += piece[range]
                }
                #expect(index == piece.count)
            }
            #expect(decoder.isComplete)
            #expect(decoded == data)
        }
    }
}
