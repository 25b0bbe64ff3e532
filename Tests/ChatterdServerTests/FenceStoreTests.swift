import Relay
import Testing

@testable import ChatterdServer

/// Writes of an attempt that is over count no more.
@Suite(.timeLimit(.minutes(30))) struct FenceStoreTests {
    @Test func piecesOfAnEarlierAttemptAreNotJournalled() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("old")])
            #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) == 2)
            let gone = [ReplySignal(id: opened.id, kind: .gone)]
            #expect(try await store.journal([opened.entry(from: ReplyPosition(text: 3), " words")]) == gone)
            #expect(try await store.journal([opened.entry(from: ReplyPosition(attempt: 3), "early")]) == gone)
            #expect(try await processes.rowCounts() == ["chatts": 2])
            #expect(try await store.journal([opened.entry(from: ReplyPosition(attempt: 2), "new")]).isEmpty)
            #expect(try await processes.sql("SELECT attempt, text FROM chatterd_journal") == [["2", "new"]])
        }
    }
}
