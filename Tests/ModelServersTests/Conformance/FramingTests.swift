import ChatterdTestSupport
import Testing

/// Every framing of the bytes gives the same answer.
@Suite(.timeLimit(.minutes(30))) struct FramingTests {
    /// An answer in a framing, as one server writes it.
    struct Case: Sendable, CustomTestStringConvertible {
        let written: WrittenCase
        let steps: [UpstreamStep]
        let testDescription: String

        static let all: [Case] = allWriters.flatMap { writer -> [Case] in
            guard let written = WrittenCase.richest(by: writer), let events = writer.events(written.output) else {
                return []
            }
            return Framing.allCases.compactMap { framing in
                framing.steps(events, by: writer).map {
                    Case(written: written, steps: $0, testDescription: "\(writer.name): \(framing)")
                }
            }
        }
    }

    @Test(arguments: Case.all)
    func anyFramingGivesTheSameAnswer(_ framed: Case) async throws {
        try await blocking {
            expect(try Peer(framed.written.writer.kind, framed.steps).received(), is: framed.written.expected)
        }
    }

    /// The decoder alone, for each cut of the bytes into two pieces.
    @Test(arguments: allWriters.map(\.name))
    func everySplitGivesTheSameAnswer(_ name: String) throws {
        let writer = try #require(allWriters.first { $0.name == name })
        let written = try #require(WrittenCase.richest(by: writer))
        let bytes = Array(try #require(writer.events(written.output)).joined().utf8)
        let whole = try DecodedAnswer([bytes], of: writer.kind)
        expect(try ReceivedAnswer(whole.answer), is: written.expected)
        for index in 1..<bytes.count {
            let split = try DecodedAnswer([Array(bytes[..<index]), Array(bytes[index...])], of: writer.kind)
            #expect(split == whole, "cut at \(index)")
        }
        let crumbs = try DecodedAnswer(bytes.map { [$0] }, of: writer.kind)
        #expect(crumbs == whole, "byte by byte")
    }
}

extension WrittenCase {
    /// The largest output that this server can write in one answer.
    static func richest(by writer: any ServerWriter) -> WrittenCase? {
        let text: [ModelOutput.Piece] = [
            .text("é\u{1F600}\u{2028}\"\\\n"),
            .text(.init("b\u{FFFD}é\u{1F600}", spelled: #"b\u0000\u00e9\ud83d\ude00"#)),
            .text("[DONE]"),
        ]
        let calls = ModelOutput.Piece.calls([
            .init("get_weather", "{\"city\":", "\"Bodø\",", "\"days\":2}", id: "a1"), .init("now", "{}", id: "b2"),
        ])
        let candidates: [([ModelOutput.Piece], ModelOutput.Reason)] = [
            ([.thinking("hm, é")] + text + [calls], .toolCalls), (text + [calls], .toolCalls), (text, .stop),
        ]
        return candidates.lazy.compactMap { pieces, reason in
            WrittenCase(ConformanceCase("all that it can say", pieces, .finished(reason)), by: writer)
        }.first
    }
}
