import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

/// Conversations that grow beyond the context of their model, turn by turn.
@Suite(.timeLimit(.minutes(30))) struct TrimmingTests {
    /// The messages that were sent with a prompt.
    private struct Sent {
        /// The number of the first message after the system prompt.
        var start: Int64
        var estimate: Int
    }

    /// Lets a conversation grow by some turns. Returns the sent messages of each prompt whose history was too long.
    ///
    /// - Parameters:
    ///   - lengths: the bytes of a prompt and of an answer.
    ///   - window: the room of the model at a turn.
    private func converse(
        turns: Int, _ lengths: (Int) -> (prompt: Int, answer: Int), window: (Int) -> ContextWindow
    ) throws -> [Sent] {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "system", content: String(repeating: "s", count: 200)), seq: 1)
        var sent: [Sent] = []
        for number in 1...turns {
            let (prompt, answer) = lengths(number)
            let seq = Int64(2 * number)
            messages.append(
                ModelMessage(role: "user", content: String(repeating: "p", count: prompt)), seq: seq,
                turn: seq + 1)
            let history = TurnHistory(messages: messages, unfinished: [])
            let window = window(number)
            let (fitted, report) = try history.fitted(to: window)
            #expect(fitted.entries.first?.seq == 1 && fitted.entries.last?.seq == seq)
            let estimate = try #require(report.estimatedTokens)
            let room = try #require(window.tokens) - window.reserve
            #expect(estimate <= room)
            if fitted.count < messages.count {
                // No partial turns, and no gaps.
                #expect(fitted.count % 2 == 0 && fitted.entries[1].seq == seq - Int64(fitted.count - 2))
                sent.append(Sent(start: fitted.entries[1].seq, estimate: estimate))
            } else {
                #expect(sent.isEmpty)
            }
            messages.append(
                ModelMessage(role: "assistant", content: String(repeating: "a", count: answer)), seq: seq + 1,
                turn: seq + 1)
        }
        return sent
    }

    private func window(_ tokens: Int, bytesPerToken: Double = 3.5) -> ContextWindow {
        var window = ContextWindow(tokens: tokens, bytesPerToken: bytesPerToken, reserve: tokens / 4)
        window.isMeasured = true
        return window
    }

    /// The number of changes of the first message.
    private func moves(_ sent: [Sent]) -> Int {
        zip(sent, sent.dropFirst()).count { $0.start != $1.start }
    }

    @Test(arguments: [1.0, 2.3, 3.5, 5.0]) func beginningStaysForSeveralTurns(bytesPerToken: Double) throws {
        let window = window(4_096, bytesPerToken: bytesPerToken)
        // A turn uses about one fiftieth of the room.
        let length = Int(25 * bytesPerToken)
        let sent = try converse(turns: 400, { _ in (length, length) }, window: { _ in window })
        #expect(sent.count > 300)
        #expect(moves(sent) * 6 <= sent.count)
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.start <= $1.start })
        // At most a quarter of the room, and a turn, is left empty.
        #expect(sent.allSatisfy { $0.estimate >= 3_072 * 3 / 4 - 100 })
    }

    @Test(arguments: 1...8) func turnsOfAnyLengthMoveTheBeginningRarely(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let lengths = (0...400).map { _ in
            (Int.random(in: 10...200, using: &generator), Int.random(in: 10...600, using: &generator))
        }
        let sent = try converse(turns: 400, { lengths[$0] }, window: { _ in window(8_192) })
        #expect(sent.count > 200)
        #expect(moves(sent) * 4 <= sent.count)
    }

    @Test func changingRateMovesTheBeginningRarely() throws {
        let sent = try converse(
            turns: 400, { (100 + $0 % 7, 100) },
            window: { window(4_096, bytesPerToken: 3.5 + ($0 % 2 == 0 ? 0.05 : -0.05)) })
        #expect(sent.count > 300)
        #expect(moves(sent) * 4 <= sent.count)
    }

    @Test func promptThatNeedsTheRoomGetsIt() throws {
        let sent = try converse(turns: 60, { ($0 == 50 ? 10_000 : 100, 100) }, window: { _ in window(4_096) })
        let starts = sent.map(\.start)
        #expect(starts.contains(100))
        #expect((starts.last ?? 0) > 100)
    }
}
