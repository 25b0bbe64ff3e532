import ChatterdTestSupport
import Testing

/// Whatever the server and however it writes, the consumer hears the same; over real sockets.
@Suite(.timeLimit(.minutes(30))) struct ConformanceTests {
    @Test(arguments: ConformanceCase.written(ConformanceCase.answers))
    func whatTheModelSaysIsHeard(_ written: WrittenCase) async throws {
        try await check(written)
    }

    @Test(arguments: ConformanceCase.written(ConformanceCase.texts))
    func textIsText(_ written: WrittenCase) async throws {
        try await check(written)
    }

    @Test(arguments: ConformanceCase.written(ConformanceCase.ends))
    func everyEndIsWhatItIs(_ written: WrittenCase) async throws {
        try await check(written)
    }

    private func check(_ written: WrittenCase) async throws {
        try await blocking {
            expect(try Peer(written.writer.kind, written.steps).listen(), is: written.expected)
        }
    }
}
