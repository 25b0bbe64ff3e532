import ChatterdTestSupport
import Testing

/// The consumer receives the same answer from every server in every wire format, over real sockets.
@Suite(.timeLimit(.minutes(30))) struct ConformanceTests {
    @Test(arguments: ConformanceCase.written(ConformanceCase.answers))
    func answerIsReceived(_ written: WrittenCase) async throws {
        try await check(written)
    }

    @Test(arguments: ConformanceCase.written(ConformanceCase.texts))
    func textIsText(_ written: WrittenCase) async throws {
        try await check(written)
    }

    @Test(arguments: ConformanceCase.written(ConformanceCase.ends))
    func endsAreDistinguished(_ written: WrittenCase) async throws {
        try await check(written)
    }

    private func check(_ written: WrittenCase) async throws {
        try await blocking {
            expect(try Peer(written.writer.kind, written.steps).received(), is: written.expected)
        }
    }
}
