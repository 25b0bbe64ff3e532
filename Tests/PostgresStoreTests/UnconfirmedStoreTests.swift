import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Turns whose opening was not confirmed, in the database.
@Suite(.timeLimit(.minutes(30))) struct UnconfirmedStoreTests {
    @Test func withdrawnTurnLeavesNoRows() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            let lost = try await store.open("b", "c")
            let next = try await processes.second.open("d")
            #expect(try await !processes.second.withdraw(lost.id, in: "app"))
            #expect(try await store.withdraw(lost.id, in: "app"))
            #expect(try await !store.withdraw(lost.id, in: "app"))
            #expect(try await processes.rowCounts() == ["chatts": 4])
            #expect(
                try await processes.second.history(of: next.turn, for: next.id).said
                    == ["user a", "assistant 1", "user d"])
        }
    }

    @Test func turnThatLaterTurnsFollowIsClosed() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            let lost = try await store.open("b", parent: .start)
            let next = try await processes.second.open("c")
            #expect(try await store.withdraw(lost.id, in: "app"))
            #expect(try await store.record(lost).state == .interrupted)
            // The prompt still follows the start, and not the turn above.
            #expect(try await processes.second.history(of: next.turn, for: next.id).said == ["user c"])
        }
    }

    @Test func openTurnIsFoundByItsOwner() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p", options: "\"seed\":1")
            #expect(try await processes.second.openedTurn(opened.id, in: "app") == nil)
            let found = try #require(try await store.openedTurn(opened.id, in: "app"))
            #expect(found.turn == opened.turn && found.attempt == 1 && found.history.isUnread)
            #expect(String(decoding: found.options, as: UTF8.self) == "\"seed\":1" && found.model == "m")
            try await store.closeTurn(opened.turn, with: opened.closing("q"))
            #expect(try await store.openedTurn(opened.id, in: "app") == nil)
        }
    }
}
