import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdChat
@testable import ChatterdRelay

/// Lines in runs have the effect of single lines.
@Suite(.timeLimit(.minutes(30))) struct LineRunTests {
    /// The tokens of an answer, some with escapes, and their runs.
    private static func runs(_ seed: UInt64) -> [[String]] {
        var random = SeededGenerator(seed: seed)
        return (0..<Int.random(in: 1..<12, using: &random)).map { _ in
            (0..<Int.random(in: 1...LineRun.limit, using: &random)).map { _ in random.text(upTo: 12) }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func runsHaveTheEffectOfSingleLines(seed: UInt64) throws {
        let runs = Self.runs(seed)
        let (single, inRuns) = (TestRelay(), TestRelay())
        let expected = single.post("Hi")
        for text in runs.joined() { try single.answer().send(text) }
        try single.answer().finish()
        single.clock.settle()
        let post = inRuns.post("Hi")
        for run in runs { try inRuns.answer().send(run: run) }
        try inRuns.answer().finish()
        inRuns.clock.settle()
        #expect(post.isComplete && post.reader.text == runs.joined().joined())
        #expect(post.reader.lines == expected.reader.lines)
        #expect(post.reader.positions == expected.reader.positions)
        #expect(inRuns.database.transcript() == single.database.transcript())
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func errorInTheMiddleFollowsTheLinesBeforeIt(seed: UInt64) throws {
        let runs = Self.runs(seed)
        let relay = TestRelay()
        let post = relay.post("Hi")
        for run in runs { try relay.answer().send(run: run) }
        try relay.answer().fail(.incomplete)
        relay.clock.settle()
        let text = runs.joined().joined()
        #expect(post.reader.text == text && post.code == .model(.incomplete))
        #expect(relay.database.transcript() == ["user: Hi", "assistant: \(text) [failed]"])
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func readerThatIsFullAfterARunLosesNoLine(seed: UInt64) throws {
        let runs = Self.runs(seed)
        var random = SeededGenerator(seed: seed)
        let relay = TestRelay()
        let post = relay.post("Hi")
        for run in runs {
            post.reader.isFull = Bool.random(using: &random)
            try relay.answer().send(run: run)
            if Bool.random(using: &random) {
                post.reader.isFull = false
                post.subscription?.listenerIsReady()
                relay.clock.settle()
            }
        }
        post.reader.isFull = false
        post.subscription?.listenerIsReady()
        relay.clock.settle()
        try relay.answer().finish()
        relay.clock.settle()
        #expect(post.isComplete && post.reader.text == runs.joined().joined())
    }

    /// The source is behind its reader.
    @Test(arguments: [0, 1, 5, LineRun.limit - 1, LineRun.limit])
    func readerThatIsAheadSkipsTheLinesThatItHas(known: Int) throws {
        let texts = (0..<LineRun.limit).map { "\($0) " }
        let clock = ManualClock()
        let reader = PartsReader(claiming: ReplyPosition(text: texts[..<known].joined().utf8.count))
        let subscription = ReplySubscription(
            reader, from: reader.position, of: FakeSource(FakeReply()), lines: ReplyLines(model: "m", createdAt: 0),
            scheduler: clock.scheduler(of: clock.makeShard()), limits: RelayLimits())
        reader.subscription = subscription
        subscription.start()
        let table = try TokenTable(texts, model: "m")
        var ends: [Int] = []
        for text in texts { ends.append((ends.last ?? 0) + text.utf8.count) }
        let end = ReplyPosition(text: ends[ends.count - 1])
        subscription.receive(
            PositionedLines(
                LineRun(table.bytes.span, tokens: table.tokens.span, like: table.example), textEnds: ends.span,
                to: end))
        #expect(reader.string == texts[known...].joined())
        #expect(subscription.position == end)
    }
}
