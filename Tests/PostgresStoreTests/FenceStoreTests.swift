import ChatterdRelay
import Testing

@testable import ChatterdPostgresStore

/// Writes of an ended attempt have no effect.
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

    @Test func piecesOfAnEarlierAttemptAreNeitherReadNorStored() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) == 2)
            _ = try await store.journal([opened.entry(from: ReplyPosition(attempt: 2), "new")])
            // One batch was on its way when the attempt ended, and committed.
            try await processes.sql(
                """
                INSERT INTO chatterd_journal
                SELECT 'app', id, 1, 0, 0, 0, 0, 'old words', '', '' FROM chatts WHERE turn = seq
                """)
            let pages = try await processes.second.readAll(try await store.record(opened))
            #expect(pages.map(\.words).joined() == "new")
            let closing = opened.closing("!", behind: ReplyPosition(attempt: 2, text: 3))
            try await store.closeTurn(opened.turn, with: closing)
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["new!"]])
        }
    }

    @Test func onlyTheOwnerJournalsAReply() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p")
            let gone = [ReplySignal(id: opened.id, kind: .gone)]
            #expect(try await processes.second.journal([opened.entry("x")]) == gone)
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }

    @Test func closedReplyIsNotJournalled() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.exchange("p", "q")
            let gone = [ReplySignal(id: opened.id, kind: .gone)]
            #expect(try await processes.first.journal([opened.entry("x")]) == gone)
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }
}
