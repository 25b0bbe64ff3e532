import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// A random course of one conversation, in which two processes, people with `psql` and a restored database change the rows. Each history
/// is compared with that of a store that always reads everything. Confined to its shard.
final class HistoryCourse {
    private let processes: StoreProcesses
    /// The store that always reads everything.
    private let reference: PostgresConversationStore
    private let conversation: ConversationKey
    private var random: SeededGenerator
    private var replies: [StoredTurn] = []
    private var running: [(turn: StoredTurn, store: PostgresConversationStore)] = []

    /// Creates a course of three processes; the third one reads everything.
    init(seed: UInt64, of conversation: ConversationKey = "app", _ processes: StoreProcesses) {
        self.processes = processes
        self.conversation = conversation
        reference = processes.stores[2]
        random = SeededGenerator(seed: seed)
    }

    /// Seeds the conversation.
    func begin() async throws {
        try await seed(Int.random(in: 0...120, using: &random))
    }

    /// Makes a random change.
    func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<50: try await prompt(parent: nil)
        case ..<58: try await prompt(parent: replies.randomElement(using: &random).map { .reply($0.id) })
        case ..<60: try await prompt(parent: .start)
        case ..<68: try await alternative()
        case ..<74: try await choose()
        case ..<79: try await closeRunning()
        case ..<82: try await seed(Int.random(in: 1...80, using: &random))
        case ..<85: try await edit("UPDATE chatts SET message = message || ' edited' WHERE \(anyRow)")
        case ..<88: try await edit("DELETE FROM chatts WHERE \(anyRow) AND state IS DISTINCT FROM 'streaming'")
        case ..<91:
            try await edit(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT '\(conversation.text)', max(seq) + 1, 'user', 'by hand' FROM chatts WHERE appid = '\(conversation.text)' HAVING max(seq) > 0
                """)
        case ..<94: try await loseRows()
        case ..<95: try await edit("TRUNCATE chatts")
        case ..<96: try await store().deleteConversation(conversation)
        default: try await prompt(parent: nil)
        }
    }

    private func store() -> PostgresConversationStore {
        Bool.random(using: &random) ? processes.first : processes.second
    }

    private var anyRow: String {
        "appid = '\(conversation.text)' AND seq = (SELECT seq FROM chatts WHERE appid = '\(conversation.text)' "
            + "ORDER BY md5(seq::text || '\(Int.random(in: 0..<1_000, using: &random))') LIMIT 1)"
    }

    private func text() -> String {
        let letters = ["a", "é", "\"", "\n", "x"]
        return String(
            repeating: letters.randomElement(using: &random) ?? "", count: Int.random(in: 0...60, using: &random))
    }

    private func seed(_ count: Int) async throws {
        var messages = (0..<count).map {
            ModelMessage(role: $0 % 2 == 0 ? "user" : "assistant", content: "\($0) \(text())")
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            messages.insert(ModelMessage(role: "system", content: text()), at: 0)
        }
        try await store().replaceConversation(conversation, with: messages)
        replies = []
        running = []
    }

    // MARK: - Changes

    private func prompt(parent: TurnParent?) async throws {
        let store = store()
        let (reach, window) = limits()
        var prompts = (0..<Int.random(in: 1...2, using: &random)).map { _ in
            ModelMessage(role: "user", content: text())
        }
        if Int.random(in: 0..<6, using: &random) == 0 {
            prompts.insert(ModelMessage(role: "system", content: text()), at: 0)
        }
        if Int.random(in: 0..<6, using: &random) == 0 { prompts[prompts.count - 1].role = "tool" }
        let opening = NewTurn(
            conversation: conversation, prompts: prompts, id: .random(), model: "m", parent: parent, reach: reach)
        let opened: OpeningOutcome
        do throws(RelayError) {
            opened = try await store.openTurn(opening)
        } catch {
            try #require(error.code == .replyNotFound, "\(error)")
            return
        }
        guard case .opened(let turn, let history, _) = opened else { return }
        try await check(history, of: turn, opening.id, store, reach, window)
        try await end(StoredTurn(turn: turn, id: opening.id, history: history), store)
    }

    private func alternative() async throws {
        guard let reply = replies.randomElement(using: &random) else { return }
        let store = store()
        let (reach, window) = limits()
        guard let record = try await store.findReply(reply.id) else { return }
        let opened: OpenTurn
        do throws(RelayError) {
            opened = try await store.openAlternative(
                to: record, as: .random(), model: nil, onInterrupt: .close, reach: reach)
        } catch {
            try #require(error.code == .replyNotFound, "\(error)")
            return
        }
        try await check(opened.history, of: opened.turn, opened.id, store, reach, window)
        try await end(StoredTurn(turn: opened.turn, id: opened.id, history: opened.history), store)
    }

    private func end(_ opened: StoredTurn, _ store: PostgresConversationStore) async throws {
        replies.append(opened)
        if Int.random(in: 0..<8, using: &random) == 0 {
            running.append((opened, store))
        } else {
            try await close(opened, store)
        }
    }

    private func close(_ opened: StoredTurn, _ store: PostgresConversationStore) async throws {
        let state: ReplyState = Int.random(in: 0..<5, using: &random) == 0 ? .failed : .complete
        do throws(RelayError) {
            try await store.closeTurn(opened.turn, with: opened.closing(text(), as: state))
        } catch {
            // The rows of the turn were removed.
            try #require(error.code == .conversationReplaced || error.code == .interrupted, "\(error)")
        }
    }

    private func closeRunning() async throws {
        guard let (opened, store) = running.popLast() else { return }
        try await close(opened, store)
    }

    private func choose() async throws {
        guard let reply = replies.randomElement(using: &random) else { return }
        let store = store()
        guard let record = try await store.findReply(reply.id) else { return }
        do throws(RelayError) {
            try await store.choose(record)
        } catch {
            try #require(error.code == .replyNotComplete || error.code == .replyNotFound, "\(error)")
        }
    }

    private func edit(_ sql: String) async throws {
        try await processes.sql(sql)
    }

    /// Removes the newest rows as a database does that lost its last transactions: no version tells.
    private func loseRows() async throws {
        try await edit(
            """
            SET chatterd.owner = '*';
            DELETE FROM chatts WHERE appid = '\(conversation.text)' AND seq > (
                SELECT max(seq) - \(Int.random(in: 0...6, using: &random)) FROM chatts WHERE appid = '\(conversation.text)')
            """)
    }

    // MARK: - The comparison

    private func limits() -> (HistoryReach?, ContextWindow) {
        let tokens = [nil, 300, 1_200, 5_000].randomElement(using: &random) ?? nil
        var window = ContextWindow(tokens: tokens, bytesPerToken: 1, reserve: (tokens ?? 0) / 4)
        window.isMeasured = true
        return (tokens.map { HistoryReach(tokens: $0, bytesPerToken: 1) }, window)
    }

    private func check(
        _ opened: TurnHistory, of turn: Turn, _ id: ReplyID, _ store: PostgresConversationStore, _ reach: HistoryReach?,
        _ window: ContextWindow
    ) async throws {
        reference.histories.remove(conversation)
        let expected = try await reference.history(of: turn, for: id)
        try compare(opened, expected, window)
        try compare(try await store.history(of: turn, for: id, reach: reach), expected, window)
        try compare(try await store.history(of: turn, for: id), expected, ContextWindow(tokens: nil, reserve: 0))
    }

    private func compare(_ history: TurnHistory, _ expected: TurnHistory, _ window: ContextWindow) throws {
        guard !history.isUnread else {
            try #require(!history.unfinished.isEmpty)
            return
        }
        try #require(history.covers(window))
        // Running turns beyond the reach do not matter.
        let start = history.skipped?.upperBound ?? 0
        try #require(history.unfinished == expected.unfinished.suffix(history.unfinished.count))
        try #require(expected.unfinished.dropLast(history.unfinished.count).allSatisfy { $0 <= start })
        let sent = fitted(history, window)
        let all = fitted(expected, window)
        try #require(sent?.messages.json.string == all?.messages.json.string)
        try #require(sent?.messages.entries.map(\.turn) == all?.messages.entries.map(\.turn))
        try #require(sent?.report == all?.report)
    }

    private func fitted(
        _ history: TurnHistory, _ window: ContextWindow
    ) -> (messages: EncodedConversation, report: PromptReport)? {
        try? history.fitted(to: window)
    }
}
