import ChatterdBasics
import ChatterdChat
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The read parts of a conversation, and the memory for them. The limit of a history is 1 MiB here.
@Suite(.timeLimit(.minutes(30))) struct HistoryReadingTests {
    private func text(_ size: Int, _ letter: String) -> String { String(repeating: letter, count: size) }

    @Test func longConversationIsReadInPages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<2_000).map {
                ModelMessage(role: $0 % 2 == 0 ? "user" : "assistant", content: "message \($0)")
            }
            try await store.replaceConversation("app", with: seed)
            let opened = try await store.open("last")
            #expect(opened.said == seed.map { "\($0.role) \($0.content)" } + ["user last"])
            #expect(opened.history.messages.entries.map(\.seq) == Array(1...2_001))
            #expect(try await store.history(of: opened.turn, for: opened.id).said == opened.said)
        }
    }

    @Test func branchIsFoundBehindTheFirstPage() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<600).map { ModelMessage(role: "system", content: "\($0)") }
            try await store.replaceConversation("app", with: seed)
            let first = try await store.exchange("a", "1")
            try await store.exchange("b", "2")
            let branch = try await store.open("c", parent: .reply(first.id))
            #expect(branch.said == seed.map { "system \($0.content)" } + ["user a", "assistant 1", "user c"])
            #expect(branch.history.omitted.map(\.numbers) == [603...604])
        }
    }

    /// The pages, the long messages and the first messages are read one after the other.
    @Test(arguments: ["pages", "long", "head"])
    func conversationReplacedDuringTheReadIsNotReplayed(form: String) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<(form == "long" ? 2 : 600)).map { ModelMessage(role: "system", content: "\($0)") }
            try await store.replaceConversation("app", with: seed)
            let first = try await store.exchange(text(form == "long" ? 20_000 : 1, "a"), "1")
            let opened = try await store.open("q", parent: .reply(first.id))
            let reach = form == "head" ? HistoryReach(tokens: 1, bytesPerToken: 4) : nil
            var reader = HistoryReader(
                from: try await processes.pool.run(HistoryReader.firstPage(of: "app")), of: opened.turn,
                for: opened.id, limit: 1 << 20, reach: reach, pool: processes.pool,
                budget: MemoryBudget(limit: 64 << 20))
            try await store.replaceConversation("app", with: seed)
            let code = await relayCode { _ = try await reader.read(evenIfUnfinished: true) }
            #expect(code == .conversationReplaced)
        }
    }

    /// The later pages have rows of another conversation, with higher numbers.
    @Test func rowsOfTheNextConversationAreNotReplayed() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed = (0..<600).map { ModelMessage(role: "system", content: "\($0)") }
            try await store.replaceConversation("app", with: seed)
            let opened = try await store.open("q")
            var reader = HistoryReader(
                from: try await processes.pool.run(HistoryReader.firstPage(of: "app")), of: opened.turn,
                for: opened.id, limit: 1 << 20, pool: processes.pool, budget: MemoryBudget(limit: 64 << 20))
            try await store.replaceConversation("app", with: seed)
            _ = try await store.open("another")
            let code = await relayCode { _ = try await reader.read(evenIfUnfinished: true) }
            #expect(code == .conversationReplaced)
        }
    }

    /// A row of the conversation that has replaced the turn's has the number of the turn: a message without a turn, or a prompt.
    @Test(arguments: [4, 1]) func conversationThatReplacedTheTurnsIsNotReplayed(seeded: Int) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("q")
            #expect(opened.turn.number == 2)
            let seed = (0..<seeded).map { ModelMessage(role: "system", content: "\($0)") }
            try await store.replaceConversation("app", with: seed)
            if seeded < 2 { _ = try await store.open("another") }
            let code = await relayCode { _ = try await store.history(of: opened.turn, for: opened.id) }
            #expect(code == .conversationReplaced)
        }
    }

    @Test func longMessagesKeepTheirOrder() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let (long, longer) = (text(20_000, "x"), text(100_000, "é"))
            try await store.exchange("a", long)
            try await store.exchange(longer, "b")
            try await store.exchange("c", "d")
            let opened = try await store.open("e", long)
            #expect(
                opened.said == [
                    "user a", "assistant \(long)", "user \(longer)", "assistant b", "user c", "assistant d", "user e",
                    "user \(long)",
                ])
            #expect(opened.history.messages.entries.map(\.seq) == [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(opened.history.messages.entries.map(\.turn) == [2, 2, 4, 4, 6, 6, 9, 9])
        }
    }

    /// A page behind short rows may have many, so it has no text of this length.
    @Test func longerMessagesBehindShortOnesAreRead() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let seed =
                (0..<100).map { ModelMessage(role: "user", content: "\($0)" + text(6_000, "a")) }
                + (0..<300).map { ModelMessage(role: "user", content: "\($0)") }
            try await store.replaceConversation("app", with: seed)
            let opened = try await store.open("last")
            #expect(opened.said == seed.map { "user \($0.content)" } + ["user last"])
        }
    }

    @Test func longExtrasAreRead() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let image = "\"images\":[\"\(text(50_000, "A"))\"]"
            let opening = NewTurn(
                conversation: "app", prompts: [ModelMessage(role: "user", content: "look", extras: image)],
                id: .random(),
                model: "m", options: [], parent: nil, onInterrupt: .close)
            guard case .opened(_, let history, _) = try await store.openTurn(opening) else { return }
            #expect(history.messages.json.string == "{\"role\":\"user\",\"content\":\"look\",\(image)}")
            #expect(history.messages.entries.map(\.images) == [1])
        }
    }

    /// The prompts of turns without an answer use no memory, and do not count towards the limit.
    @Test func turnsWithoutAnAnswerCostNoMemory() async throws {
        let memory = MemoryBudget(limit: 64 << 20)
        try await StoreProcesses.run(memory: memory) { processes in
            let store = processes.first
            for _ in 0..<8 {
                try await store.exchange(text(600_000, "p"), "", as: .failed)
            }
            let opened = try await store.open("q")
            #expect(opened.said == ["user q"] && !opened.history.isTooLarge)
            #expect(memory.reservedBytes < 10_000)
        }
    }

    /// Escapes make the JSON of a history longer than its texts.
    @Test func historyWhoseJSONIsOverTheLimitIsRefused() async throws {
        try await StoreProcesses.run { processes in
            try await processes.first.exchange(String(repeating: "\u{1}", count: 300_000), "y")
            let opened = try await processes.first.open("q")
            #expect(opened.history.isTooLarge && opened.history.messages.count == 0)
        }
    }

    @Test func historyOverTheLimitIsRefusedBeforeTheRead() async throws {
        let memory = MemoryBudget(limit: 64 << 20)
        try await StoreProcesses.run(memory: memory) { processes in
            let store = processes.first
            for _ in 0..<3 {
                try await store.exchange(text(600_000, "x"), "y")
            }
            // Without memory, the history would be left unread instead.
            let held = memory.charge(64 << 20)
            let opened = try await store.open("q")
            #expect(opened.history.isTooLarge && opened.history.messages.count == 0)
            #expect(memory.reservedBytes - held.count < 10_000)
        }
    }

    /// Failed turns count, because they use space in the database.
    @Test func conversationDoesNotExceedItsLimit() async throws {
        try await StoreProcesses.run(conversationLimit: 1_000_000) { processes in
            let store = processes.first
            let first = try await store.exchange(text(300_000, "p"), text(300_000, "a"), as: .failed)
            try await store.exchange("small", "1")
            try await store.choose(try await store.record(try await store.exchange("chosen", "2")))
            let rows = try await processes.rowCounts()
            // The conversation has 600,000 bytes already.
            #expect(await relayCode { _ = try await store.open(text(400_000, "p")) } == .historyTooLarge)
            let key = IdempotencyKey(text: "key", digest: [1])
            let named = NewTurn(
                conversation: "app", prompts: [ModelMessage(role: "user", content: text(400_000, "p"))], id: .random(),
                model: "m",
                options: [], parent: .reply(first.id), key: key, onInterrupt: .close)
            #expect(await relayCode { _ = try await store.openTurn(named) } == .historyTooLarge)
            #expect(
                await relayCode { _ = try await store.open("x", parent: .reply(.random())) } == .replyNotFound)
            #expect(try await processes.rowCounts()["chatts"] == rows["chatts"])
            // The key has no reply, and can be used again.
            #expect(try await store.knownReply(in: "app", key: key) == nil)
            try await store.exchange(text(200_000, "p"), text(200_000, "a"))
            #expect(await relayCode { _ = try await store.open("x") } == .historyTooLarge)
            #expect(
                await relayCode {
                    _ = try await store.openAlternative(
                        to: try await store.record(first), as: .random(), model: nil, onInterrupt: .close)
                } == .historyTooLarge)
            // The conversation accepts prompts again after its replacement.
            try await store.replaceConversation("app", with: [ModelMessage(role: "system", content: "s")])
            #expect(try await store.open("x").said == ["system s", "user x"])
        }
    }

    @Test func promptIsStoredWithoutMemoryForItsHistory() async throws {
        let memory = MemoryBudget(limit: 64 << 20)
        try await StoreProcesses.run(memory: memory) { processes in
            let store = processes.first
            try await store.exchange(text(600_000, "x"), "y")
            let held = memory.charge(60 << 20)
            let opened = try await store.open("q")
            #expect(opened.history.isUnread)
            #expect(
                await relayCode { _ = try await store.history(of: opened.turn, for: opened.id) } == .overloaded)
            held.shrink(to: 0)
            let history = try await store.history(of: opened.turn, for: opened.id)
            #expect(history.said.count == 3 && !history.isUnread)
            // The reservation covers the history and the copies for its request.
            #expect(memory.reservedBytes >= TurnHistory.copiesOnTheWay * history.messages.json.count)
        }
    }
}
