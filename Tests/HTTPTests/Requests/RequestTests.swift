import ChatterdTestSupport
import Testing

/// All tables of requests, read whole, in two pieces and byte by byte.
@Suite struct RequestTests {
    static let cases =
        requestLineCases + targetCases + fieldCases + hostCases + lengthCases + transferEncodingCases
        + chunkCases + limitCases + pipelineCases

    @Test func catalogueHasMoreThanTwoHundredCasesWithDistinctNames() {
        #expect(RequestTests.cases.count > 200)
        #expect(Set(RequestTests.cases.map(\.name)).count == RequestTests.cases.count)
    }

    @Test(arguments: cases) func requestArrivesWhole(_ vector: RequestCase) {
        #expect(RequestDriver.transcript(of: vector.bytes, cutAt: []) == vector.transcript)
    }

    @Test(arguments: cases) func requestArrivesInTwoPieces(_ vector: RequestCase) {
        for cut in Cuts.halves(of: vector.bytes.count) {
            let transcript = RequestDriver.transcript(of: vector.bytes, cutAt: [cut])
            #expect(transcript == vector.transcript, "cut at \(cut)")
            if transcript != vector.transcript {
                return
            }
        }
    }

    @Test(arguments: cases) func requestArrivesByteByByte(_ vector: RequestCase) {
        let cuts = Cuts.everywhere(in: vector.bytes.count)
        #expect(RequestDriver.transcript(of: vector.bytes, cutAt: cuts) == vector.transcript)
    }

    @Test(arguments: 0..<20) func damagedRequestIsReadTheSameHoweverItArrives(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let telling = Array("\r\n \t:;,=\"\\0159afAF\0\u{7F}/%.?*xH".utf8) + [0x80, 0xFF]
        for vector in RequestTests.cases where vector.bytes.count < 600 && !vector.bytes.isEmpty {
            var bytes = vector.bytes + vector.bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                let byte = try #require(telling.randomElement(using: &generator))
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = byte
                case 1: bytes.insert(byte, at: index)
                default: bytes.remove(at: index)
                }
            }
            let whole = RequestDriver.transcript(of: bytes, cutAt: [])
            let single = RequestDriver.transcript(of: bytes, cutAt: Cuts.everywhere(in: bytes.count))
            let cut = RequestDriver.transcript(of: bytes, cutAt: [Int.random(in: 0...bytes.count, using: &generator)])
            #expect(single == whole, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(cut == whole, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }
}
