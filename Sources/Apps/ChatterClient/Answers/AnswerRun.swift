import ChatterdHTTP

/// The course of a reply as snapshots: one for all events of one read.
struct AnswerRun: ResumableRun {
    private var run: ReplyRun
    private var answer: Answer

    init(_ run: ReplyRun, continuing answer: Answer = Answer()) {
        self.run = run
        self.answer = answer
    }

    var isOver: Bool { run.isOver }

    mutating func request() throws(ChatterError) -> ClientRequest { try run.request() }

    mutating func connected(_ response: ResponseHead) throws(ChatterError) -> [Answer] {
        snapshot(after: try run.connected(response))
    }

    mutating func received(_ bytes: Span<UInt8>, _ events: inout ArraySlice<Answer>) throws(ChatterError) {
        var news: ArraySlice<ReplyEvent> = []
        do throws(ChatterError) {
            try run.received(bytes, &news)
        } catch {
            events += snapshot(after: news)
            throw error
        }
        events += snapshot(after: news)
    }

    mutating func failed(_ error: ChatterError) throws(ChatterError) -> (wait: Duration, events: [Answer]) {
        let retry = try run.failed(error)
        return (retry.wait, snapshot(after: retry.events))
    }

    private mutating func snapshot(after events: some Collection<ReplyEvent>) -> [Answer] {
        // Events without content may have moved the position.
        answer.position = run.position
        guard !events.isEmpty else { return [] }
        for event in events {
            answer.apply(event)
        }
        return [answer]
    }
}
