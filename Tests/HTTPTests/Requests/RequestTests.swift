import Testing

/// Every table of requests, read whole, in two pieces and byte by byte.
@Suite struct RequestTests {
    static let cases =
        requestLineCases + targetCases + fieldCases + hostCases + lengthCases + transferEncodingCases
        + chunkCases + limitCases + pipelineCases

    @Test func thereAreMoreThanTwoHundredCasesWithDistinctNames() {
        #expect(RequestTests.cases.count > 200)
        #expect(Set(RequestTests.cases.map(\.name)).count == RequestTests.cases.count)
    }

    @Test(arguments: cases) func aRequestArrivesWhole(_ vector: RequestCase) {
        #expect(RequestDriver.transcript(of: vector.bytes, cutAt: []) == vector.transcript)
    }

    @Test(arguments: cases) func aRequestArrivesInTwoPieces(_ vector: RequestCase) {
        for cut in Cuts.halves(of: vector.bytes.count) {
            let transcript = RequestDriver.transcript(of: vector.bytes, cutAt: [cut])
            #expect(transcript == vector.transcript, "cut at \(cut)")
            if transcript != vector.transcript {
                return
            }
        }
    }

    @Test(arguments: cases) func aRequestArrivesByteByByte(_ vector: RequestCase) {
        let cuts = Cuts.everywhere(in: vector.bytes.count)
        #expect(RequestDriver.transcript(of: vector.bytes, cutAt: cuts) == vector.transcript)
    }
}
