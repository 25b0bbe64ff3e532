import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgresStore

/// Messages with images.
enum ImageMessages {
    /// Base64 of random bytes, of a given length.
    static func image(_ seed: UInt64, size: Int) -> String {
        var random = SeededGenerator(seed: seed)
        let bytes = Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) })
        return String(bytes.base64EncodedString().prefix(size))
    }

    static func message(_ text: String, _ images: [String]) -> ModelMessage {
        let list = images.map { "\"\($0)\"" }.joined(separator: ",")
        return ModelMessage(role: "user", content: text, extras: "\"images\":[\(list)]")
    }

    /// The messages as a model server gets them, with commas between them.
    static func json(_ messages: [ModelMessage]) -> [UInt8] {
        var conversation = EncodedConversation()
        for message in messages {
            conversation.append(message)
        }
        return conversation.json.array
    }
}

extension StoreProcesses {
    /// A process whose histories may be large.
    func largeStore(attachmentsLimit: Int = 0, historyCache: Int = 0) -> PostgresConversationStore {
        let memory = MemoryBudget(limit: 1 << 30)
        return PostgresConversationStore(
            pool: pool, lease: ProcessLease(id: .random()), historyLimit: 64 << 20, attachmentsLimit: attachmentsLimit,
            memory: memory, histories: HistoryCache(limit: historyCache, budget: memory))
    }

    func archive(attachmentsLimit: Int = 0) -> ConversationArchive {
        ConversationArchive(
            pool: pool, readers: pool, conversationLimit: 1 << 30, attachmentsLimit: attachmentsLimit,
            memory: MemoryBudget(limit: 1 << 30))
    }

    /// App and size of each attachment. The totals of the apps must be their sums.
    func attachments() async throws -> [[String]] {
        let wrong = try await sql(
            """
            SELECT app, t.bytes, s.bytes FROM chatterd_attachment_totals t
            FULL JOIN (SELECT app, sum(octet_length(content)) AS bytes FROM chatterd_attachments GROUP BY app) AS s USING (app)
            WHERE coalesce(t.bytes, 0) <> coalesce(s.bytes, 0)
            """)
        #expect(wrong.isEmpty)
        return try await sql("SELECT app, octet_length(content) FROM chatterd_attachments ORDER BY 1, 2")
    }

    /// The advisory lock that transactions of a test wait for.
    static let gate: Int64 = 52

    /// Runs `body` while another session holds the gate, until it calls its argument.
    func holdingGate(
        _ body: (_ release: @escaping @Sendable () async throws -> Void) async throws -> Void
    ) async throws {
        let holder = Task { try await sql("SELECT pg_sleep(3600) FROM pg_advisory_xact_lock(\(Self.gate))") }
        let pid = try await first(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")
        let release = { @Sendable in
            try await sql("SELECT pg_terminate_backend(\(pid))")
            _ = try? await holder.value
        }
        do {
            try await body(release)
        } catch {
            try await release()
            throw error
        }
    }

    /// Waits until a number of transactions wait for locks of others.
    func waitForBlocked(_ count: Int) async throws {
        _ = try await first(
            """
            SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0 HAVING count(*) = \(count)
            """)
    }

    /// The first value of a query, once it has one.
    private func first(_ query: String) async throws -> String {
        while true {
            if let row = try await sql(query).first { return row[0] }
        }
    }
}

extension PostgresConversationStore {
    /// Opens a turn that is new to the store.
    func open(
        _ prompts: [ModelMessage], in conversation: ConversationKey = "app", parent: TurnParent? = nil
    ) async throws -> StoredTurn {
        let id = ReplyID.random()
        let opened = try await openTurn(
            NewTurn(conversation: conversation, prompts: prompts, id: id, model: "m", parent: parent))
        guard case .opened(let turn, let history, _) = opened else { throw TestFailure("the turn is known") }
        // Histories with open turns are read when the reply starts.
        return StoredTurn(
            turn: turn, id: id,
            history: history.unfinished.isEmpty ? history : try await self.history(of: turn, for: id))
    }

    /// Opens a turn and closes it.
    @discardableResult
    func exchange(_ prompts: [ModelMessage], in conversation: ConversationKey = "app") async throws -> StoredTurn {
        let opened = try await open(prompts, in: conversation)
        try await closeTurn(opened.turn, with: opened.closing("seen"))
        return opened
    }
}
