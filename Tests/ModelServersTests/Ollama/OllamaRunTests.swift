import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdDialects
@testable import ChatterdModelServers

/// Any splitting of an answer gives the same lines, in runs of any length.
@Suite(.timeLimit(.minutes(30))) struct OllamaRunTests {
    private static func lines(_ count: Int, _ random: inout SeededGenerator) -> [String] {
        (0..<count).map { _ in ModelLine.token(random.text(upTo: 8)) }
    }

    private static func pieces(of bytes: [UInt8], _ random: inout SeededGenerator) -> [[UInt8]] {
        var (pieces, start) = ([[UInt8]](), 0)
        while start < bytes.count {
            let end = min(bytes.count, start + Int.random(in: 1...4_000, using: &random))
            pieces.append(Array(bytes[start..<end]))
            start = end
        }
        return pieces
    }

    private static func withoutLineEnd(_ line: String) -> String { String(line.dropLast()) }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func anySplittingGivesTheSameLines(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let lines = Self.lines(Int.random(in: 100..<400, using: &random), &random) + [ModelLine.done()]
        let whole = try DecodedAnswer([Array(lines.joined().utf8)], of: .ollama)
        #expect(whole.longestRun == LineRun.limit && whole.error == nil)
        let single = try DecodedAnswer(lines.map { Array($0.utf8) }, of: .ollama)
        #expect(single.longestRun == 1)
        #expect(whole == single && whole.lines == lines.map(Self.withoutLineEnd))
        let pieces = Self.pieces(of: Array(lines.joined().utf8), &random)
        let split = try DecodedAnswer(pieces, of: .ollama)
        #expect(split == whole)
    }

    @Test(arguments: [#"{"error":"broken"}"#, "not JSON"])
    func errorInTheMiddleFollowsTheLinesBeforeIt(_ line: String) throws {
        var random = SeededGenerator(seed: 1)
        let before = Self.lines(100, &random)
        let body = before.joined() + line + "\n" + Self.lines(10, &random).joined()
        let answer = try DecodedAnswer([Array(body.utf8)], of: .ollama)
        #expect(answer.lines == before.map(Self.withoutLineEnd))
        #expect(answer.error != nil)
    }

    @Test func runEndsWhenItsLinesAreLarge() throws {
        let text = String(repeating: "x", count: LineRun.size / 4)
        let lines = (0..<16).map { _ in ModelLine.token(text) } + [ModelLine.done()]
        let answer = try DecodedAnswer([Array(lines.joined().utf8)], of: .ollama)
        #expect(answer.longestRun == 4)
        #expect(answer.lines == lines.map(Self.withoutLineEnd))
    }

    @Test func answerThatIsTooLargeIsCutAfterItsLastWholeLine() async throws {
        try await blocking {
            var limits = GenerationLimits.longTimeouts
            limits.answer = 10
            let tokens = (0..<50).map { _ in "abc" }
            let upstream = try ScriptedUpstream(
                .plain(200, tokens.map { ModelLine.token($0) }.joined(), type: "application/x-ndjson"))
            let answer = try ModelHarness(upstream.url, limits: limits).ask()
            #expect(answer.content == "abcabcabc" && answer.code == .answerTooLarge)
        }
    }
}
