import ChatterdBasics
import Foundation
import Testing

@testable import ChatterModels

/// How often the value so far of a long answer is shown, counted with a clock that is moved by hand.
@Suite(.timeLimit(.minutes(30))) struct SnapshotTests {
    private static let start = ContinuousClock.now
    /// Longer than what is shown piece by piece.
    private static let pieces = 20 * SnapshotPace.shortLength / 5

    private static func text(_ count: Int = pieces, closing: String = "") -> [GenerationEvent] {
        Array(repeating: .text("abcd "), count: count)
            + (closing.isEmpty ? [] : [.text(closing)]) + [.finished(GenerationEnd(reason: .stop))]
    }

    /// A session whose clock moves by this time with each look at it.
    private func session(_ llm: ScriptedLLM, step: Duration) -> Session {
        let now = Lock(Self.start)
        return Session(model: llm) {
            now.withLock {
                $0 += step
                return $0
            }
        }
    }

    @Test func snapshotsOfALongTextTogetherCostALinearTime() async throws {
        func bytes(_ count: Int) async throws -> (bytes: Int, last: Int) {
            var sum = (bytes: 0, last: 0)
            for try await text in session(ScriptedLLM(Self.text(count)), step: .zero).replyStream(to: "Hi") {
                sum = (sum.bytes + text.utf8.count, text.utf8.count)
            }
            return sum
        }
        let short = try await bytes(Self.pieces)
        let long = try await bytes(8 * Self.pieces)
        #expect(short.last == 5 * Self.pieces && long.last == 40 * Self.pieces)
        // Beyond the short beginning only the whole text is shown.
        #expect(long.bytes - short.bytes == 35 * Self.pieces)
    }

    @Test func eachPieceIsShownAfterAnInterval() async throws {
        var count = 0
        let session = session(ScriptedLLM(Self.text()), step: SnapshotPace.interval)
        for try await _ in session.replyStream(to: "Hi") {
            count += 1
        }
        #expect(count == Self.pieces)
    }

    @Test func lastSnapshotComesBeforeTheEnd() async throws {
        var events: [String] = []
        for try await event in session(ScriptedLLM(Self.text()), step: .zero).events(replyingTo: "Hi") {
            switch event {
            case .snapshot(let text): events.append("snapshot \(text.utf8.count)")
            case .finished(let reply): events.append("finished \(reply.content.utf8.count)")
            default: break
            }
        }
        #expect(events.suffix(2) == ["snapshot \(5 * Self.pieces)", "finished \(5 * Self.pieces)"])
    }

    @Test func valuesOfALongArrayAreShownAsOften() async throws {
        let text = "[" + (0..<Self.pieces).map { "\($0)" }.joined(separator: ",") + "]"
        let llm = ScriptedLLM(.text(#"{"value":\#(text)}"#, by: 5))
        var elements = 0
        var last: [Int] = []
        for try await list in session(llm, step: .zero).replyStream(to: "Hi", returning: [Int].self) {
            elements += list.count
            last = list
        }
        #expect(last == Array(0..<Self.pieces))
        #expect(elements < SnapshotPace.shortLength * SnapshotPace.shortLength / 5 + Self.pieces)
    }

    @Test func observersGetALongMessageAsOften() async throws {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: GenerationEvent.self)
        let session = session(ScriptedLLM(scripts: [{ _ in stream }]), step: .zero)
        var transcripts = await session.transcripts().makeAsyncIterator()
        var events = session.events(replyingTo: "Hi").makeAsyncIterator()
        for event in Self.text() {
            continuation.yield(event)
        }
        for _ in 0..<Self.pieces / 2 {
            _ = try await events.next()
        }
        // The observer has the beginning; who asks gets all that there is.
        let seen = await transcripts.next()?.growing?.text.utf8.count ?? 0
        #expect(SnapshotPace.shortLength - 5...SnapshotPace.shortLength + 5 ~= seen)
        #expect(await session.transcript.growing?.text.utf8.count ?? 0 > 2 * SnapshotPace.shortLength)
        while try await events.next() != nil {}
        #expect(await transcripts.next()?.messages.last?.text.utf8.count == 5 * Self.pieces)
    }

    @Test(arguments: [
        "```json\n{\"value\":[1,2]}\n```", "```\r\n{\"value\":[1,2]}```\n", "\n ```JSON\n{\"value\":[1,2]}\n```\n\n",
        "````json\n{\"value\":[1,2]}\n````", " {\"value\":[1,2]} ",
    ]) func valueInACodeBlockIsAnAnswer(_ text: String) async throws {
        for size in [1, 4, text.count] {
            let llm = ScriptedLLM(.text(text, by: size))
            #expect(try await llm.reply(to: "Hi", returning: [Int].self).content == [1, 2])
            var last: [Int] = []
            for try await list in llm.replyStream(to: "Hi", returning: [Int].self) {
                last = list
            }
            #expect(last == [1, 2])
        }
    }

    @Test(arguments: [
        "`{\"value\":[1]}`", "``\n{\"value\":[1]}\n``", "```{\"value\":[1]}```", "```json\n{\"value\":[1]}\n``` more",
        "```",
    ]) func otherTextAroundAValueIsNoAnswer(_ text: String) async {
        let error = await #expect(throws: LLMError.self) {
            try await ScriptedLLM(.text(text)).reply(to: "Hi", returning: [Int].self)
        }
        guard case .notJSON(_, text)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func systemShowsTheSentencesOfErrors() {
        let fault = JSONFault(code: .unexpectedByte, offset: 3)
        #expect(fault.localizedDescription == "The text is not JSON: an unexpected character at byte 3.")
        #expect((LLMError.busy as any Error).localizedDescription == LLMError.busy.message)
        #expect(
            (SchemaViolation(path: "$.a", reason: "is missing") as any Error).localizedDescription == "$.a is missing")
    }
}
