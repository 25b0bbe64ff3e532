import ChatterdRelay
import Testing

@testable import ChatterdPostgresStore

/// Readers of a long reply share its pages.
@Suite(.timeLimit(.minutes(30))) struct SharedPagesTests {
    /// The reply has 8 MB, in pages of 256 KiB. PostgreSQL would unpack the whole text for each separate page.
    @Test func readersOfALongReplyShareItsPages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let text = String(repeating: "0123456789é京👋", count: 120_000)
            let opened = try await store.open("p")
            try await store.closeTurn(opened.turn, with: opened.closing(text))
            let record = try await store.record(opened)
            #expect(try await store.readAll(record).map(\.words).joined() == text)
            // The store keeps the shared pages, and sends no further query.
            try await processes.sql("UPDATE chatts SET message = 'x' WHERE state = 'complete'")
            #expect(try await store.readAll(record).map(\.words).joined() == text)
        }
    }

    /// A reader that starts in the middle reaches the pages of the other readers.
    @Test func pageBoundariesDoNotDependOnTheStartOfAReader() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            try await store.closeTurn(opened.turn, with: opened.closing(String(repeating: "word ", count: 300_000)))
            let record = try await store.record(opened)
            let ends = Set(try await store.readAll(record).map(\.end))
            let others = try await store.readAll(record, from: ReplyPosition(text: 777_777)).map(\.end)
            #expect(others.count > 2 && ends.isSuperset(of: others))
        }
    }
}
