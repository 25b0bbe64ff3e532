import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Turns in PostgreSQL, from their opening to their end.
@Suite(.timeLimit(.minutes(30))) struct ConversationStoreTests {
    @Test func replyIsStoredOnceAndItsFirstEndCounts() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            try await store.closeTurn(opened.turn, with: opened.closing("text"))
            // The confirmation was lost.
            try await store.closeTurn(opened.turn, with: opened.closing("text"))
            let next = try await store.open("q")
            #expect(next.said == ["user p", "assistant text", "user q"] && next.history.unfinished.isEmpty)
            let other = opened.closing("other", as: .failed, lastEvent: "{\"error\":\"x\"}")
            #expect(await relayCode { try await store.closeTurn(opened.turn, with: other) } == .interrupted)
            let page = try await store.readReply(try await store.record(opened), from: ReplyPosition())
            #expect(page.words == "text")
            #expect(page.ending == ReplyEnding(state: .complete, lastEvent: Array("{\"done\":true}".utf8)))
            let stranger = StoredTurn(turn: opened.turn, id: .random(), history: opened.history)
            #expect(
                await relayCode { try await store.closeTurn(opened.turn, with: stranger.closing("x")) }
                    == .conversationReplaced)
        }
    }

    @Test func openTurnIsUnfinishedForTheNextTurnOnly() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.open("a", "b")
            #expect(first.turn.number == 3 && first.history.unfinished.isEmpty && first.said == ["user a", "user b"])
            let second = try await store.open("c")
            #expect(second.turn.number == 5 && second.history.unfinished == [3] && second.said == ["user c"])
            try await store.closeTurn(first.turn, with: first.closing("d"))
            let now = try await store.history(of: second.turn, for: second.id)
            #expect(now.unfinished.isEmpty && now.said == ["user a", "user b", "assistant d", "user c"])
            #expect(try await store.history(of: first.turn, for: first.id).said == ["user a", "user b"])
        }
    }

    @Test func openedReplyIsFoundByItsID() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p", options: "\"seed\":1")
            let record = try await processes.second.record(opened)
            #expect(record.turn == opened.turn && record.model == "m" && record.state == nil && record.attempt == 1)
            #expect(!record.isAbandoned && record.finishedAt == nil && record.createdAt > 1_700_000_000_000_000)
            try await processes.first.closeTurn(opened.turn, with: opened.closing("x", as: .cancelled))
            let closed = try await processes.second.record(opened)
            #expect(closed.state == .cancelled && closed.finishedAt.map { $0 >= closed.createdAt } == true)
            #expect(try await processes.first.findReply(.random()) == nil)
        }
    }

    @Test func emptyPromptsAndEmptyRepliesAreDistinct() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("", "")
            let next = try await store.open("q")
            #expect(next.said == ["user ", "assistant ", "user q"])
            #expect(
                try await processes.sql("SELECT seq, turn, state, name FROM chatts ORDER BY seq") == [
                    ["1", "2", "prompt", "user"], ["2", "2", "complete", "assistant"], ["3", "4", "prompt", "user"],
                    ["4", "4", "streaming", "assistant"],
                ])
        }
    }

    @Test func concurrentTurnsGetDistinctNumbers() async throws {
        try await StoreProcesses.run { processes in
            let turns = try await withThrowingTaskGroup(of: Int64.self) { group in
                for index in 0..<50 {
                    group.addTask { try await processes.stores[index % 2].open("p").turn.number }
                }
                return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
            }
            #expect(turns == Set((1...50).map { Int64(2 * $0) }))
        }
    }

    @Test func turnOfADeadProcessIsSettled() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            // The lease of its owner is valid, and the owner knows whether it runs the turn.
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false) == false)
            #expect(try await store.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false) == false)
            #expect(try await store.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(
                await relayCode { try await store.closeTurn(opened.turn, with: opened.closing("x")) } == .interrupted)
            let second = try await store.open("q")
            try await processes.kill(store)
            #expect(try await other.record(second).isAbandoned)
            #expect(try await other.settleTurn(second.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(try await other.record(second).state == .interrupted)
        }
    }

    @Test func turnOfAReplacedConversationIsGone() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let seed = [ModelMessage(role: "system", content: "s")]
            try await store.replaceConversation("app", with: seed)
            #expect(try await store.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(
                await relayCode { _ = try await store.history(of: opened.turn, for: opened.id) }
                    == .conversationReplaced)
            #expect(
                await relayCode { try await store.closeTurn(opened.turn, with: opened.closing("x")) }
                    == .conversationReplaced)
            let next = try await store.open("q")
            // The numbers of turns are not used again.
            #expect(opened.turn.number == 2 && next.turn.number == 5 && next.history.unfinished.isEmpty)
            #expect(next.said == ["system s", "user q"])
        }
    }

    @Test func historyOverTheLimitIsMarkedAsTooLarge() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            for _ in 0..<3 {
                try await store.exchange(String(repeating: "x", count: 600_000), "y")
            }
            #expect(try await store.open("q").history.isTooLarge)
        }
    }
}
