import Testing

@testable import ChatterdRelay

@Suite(.timeLimit(.minutes(30))) struct ContinuationSeamTests {
    private func outcome(_ text: String, _ pieces: [String]) -> String? {
        var seam = ContinuationSeam(after: Array(text.utf8))
        for (index, piece) in pieces.enumerated() {
            switch seam.append(Array(piece.utf8)) {
            case .hold: continue
            case .fails: return nil
            case .continues(let bytes):
                return text + String(decoding: bytes, as: UTF8.self) + pieces[(index + 1)...].joined()
            }
        }
        guard case .continues(let bytes) = seam.end() else { return nil }
        return text + String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("one two three four five", [" six"], "one two three four five six"),
            ("one two three four five ", [" six"], "one two three four five six"),
            ("one two three four five ", ["six"], "one two three four five six"),
            ("one two three four five\n\n", ["\n", "\n", "six"], "one two three four five\n\nsix"),
            ("one two three four five", ["one", " and only"], "one two three four fiveone and only"),
            ("one two three four five ", [" ", "\n", " six"], "one two three four five \n six"),
            ("one two three four five", ["on"], nil),
            ("one two three four five", [], nil),
            ("one two three four five ", [" "], nil),
            ("one two three four five ", ["\n", "\n"], nil),
            ("one two three four five", Array(repeating: "        ", count: 129) + [" six"], nil),
        ] as [(String, [String], String?)])
    func continuationIsJoinedWithoutRepeatedBytes(text: String, pieces: [String], joined: String?) {
        #expect(outcome(text, pieces) == joined)
    }

    @Test func answerFromTheStartIsDetected() {
        let text = "Once upon a time there was a king who had a daughter"
        for size in 1...text.utf8.count {
            let pieces = stride(from: 0, to: text.count, by: size).map { String(text.dropFirst($0).prefix(size)) }
            #expect(outcome(text, pieces) == nil, "pieces of \(size)")
        }
    }

    @Test func whiteSpaceAtTheEndIsNotSentToTheNextServer() {
        #expect(ContinuationSeam.trimmed(Array("a b \n\t".utf8)) == Array("a b".utf8))
        #expect(ContinuationSeam.trimmed(Array(" ".utf8)) == [])
    }
}
