import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

@Suite struct PassedAnswerCountTests {
    private func count(_ text: String, inPiecesOf size: Int) -> PassedAnswerCount {
        var count = PassedAnswerCount()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            count.append(bytes.span.extracting(start..<min(start + size, bytes.count)))
        }
        return count
    }

    @Test(arguments: [1, 7, 100_000])
    func countsOfTheLastLineAreUsed(size: Int) {
        let text =
            String(repeating: #"{"response":"x","done":false}"# + "\n", count: 500)
            + #"{"done":true,"context":[1,2],"prompt_eval_count":26,"eval_count": 290,"eval_duration":1}"# + "\n"
        let count = count(text, inPiecesOf: size)
        #expect(count.promptTokens == 26 && count.answerTokens == 290)
    }

    @Test(arguments: [1, 1_000])
    func linesAreCountedWithoutCounts(size: Int) {
        let count = count(String(repeating: #"{"response":"\"eval_count\":9"}"# + "\n", count: 12), inPiecesOf: size)
        #expect(count.promptTokens == nil && count.answerTokens == 12)
    }

    @Test(arguments: PeerNumber.all)
    func countOutOfBoundsIsNotGiven(_ number: PeerNumber) {
        let line = #"{"done":true,"prompt_eval_count":\#(number.text),"eval_count":\#(number.text)}"# + "\n"
        let found = count(line, inPiecesOf: 9)
        // More than nine digits are no count of the usage.
        let expected = number.count.flatMap { $0 < 1_000_000_000 ? $0 : nil }
        #expect(found.promptTokens == expected && found.answerTokens == expected ?? 1)
    }

    @Test func absurdCountIsIgnored() {
        let count = count(#"{"done":true,"eval_count":99999999999999999999}"# + "\n", inPiecesOf: 8)
        #expect(count.answerTokens == 1)
    }
}
