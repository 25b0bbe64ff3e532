import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The streamed, the stored and the replayed text are the same, for any text in any pieces.
@Suite(.timeLimit(.minutes(30))) struct FidelityTests {
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func textInAnyPiecesIsStreamedStoredAndReplayedUnchanged(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let rounds = 12
        var scripts: [[UpstreamStep]] = []
        var texts: [String] = []
        var prompts: [String] = []
        for _ in 0..<rounds {
            let tokens = (0..<Int.random(in: 0...12, using: &random)).map { _ in random.text(upTo: 12) }
            let body = tokens.map { ModelLine.token($0) }.joined() + ModelLine.done()
            let pieces = random.pieces(of: Array(body.utf8), upTo: Int.random(in: 1...300, using: &random))
            scripts.append([.streamHead] + pieces.map { .chunk($0) } + [.endChunks])
            texts.append(tokens.joined())
            // A blank prompt would be refused.
            prompts.append("p" + random.text(upTo: 40))
        }
        let (script, expected, questions) = (scripts, texts, prompts)
        let upstream = try ScriptedUpstream { script[$0.number] }
        try await onStage(upstream: upstream.url) { stage in
            var conversation: [[String]] = []
            for round in 0..<rounds {
                let transcript = Transcript(try stage.chat("app", questions[round]))
                transcript.check()
                #expect(Array(transcript.text.utf8) == Array(expected[round].utf8))
                conversation.append(["user", questions[round]])
                #expect(same(upstream.requests[round].messages, conversation))
                conversation.append(["assistant", expected[round]])
            }
            #expect(try stage.rows("app").map(\.message) == conversation.map { Array($0[1].utf8) })
        }
    }

    private func same(_ one: [[String]], _ other: [[String]]) -> Bool {
        // Bytes: Swift's strings are equal when they look the same.
        one.map { $0.map { Array($0.utf8) } } == other.map { $0.map { Array($0.utf8) } }
    }
}
