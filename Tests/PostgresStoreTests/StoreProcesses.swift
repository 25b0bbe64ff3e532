import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgresStore

/// A fresh database, and the stores of several processes on it. Confined to its shard.
struct StoreProcesses: Sendable {
    let conninfo: String
    let pool: PostgresPool
    /// The store of each process, with its own lease.
    let stores: [PostgresConversationStore]

    var first: PostgresConversationStore { stores[0] }
    var second: PostgresConversationStore { stores[1] }

    /// Runs `body` on a shard.
    static func run(
        count: Int = 2, keyLifetime: Duration = .seconds(3_600), memory: MemoryBudget = MemoryBudget(limit: 1 << 30),
        conversationLimit: Int = 1 << 30, historyCache: Int = 1 << 20, hooks: [String] = [],
        _ body: @escaping @Sendable (StoreProcesses) async throws -> Void
    ) async throws {
        let conninfo = try await blocking { try PrivateCluster.shared().makeDatabase() }
        let target = try ConnectionTarget(conninfo)
        try await blocking { try prolongLeases(in: conninfo, of: .shared()) }
        try await onPool(target) { pool in
            let stores = (0..<count).map { _ in
                PostgresConversationStore(
                    pool: pool, lease: ProcessLease(id: .random()), historyLimit: 1 << 20,
                    conversationLimit: conversationLimit, memory: memory,
                    histories: HistoryCache(limit: historyCache, budget: memory), keyLifetime: keyLifetime,
                    pageLifetime: .seconds(3_600), hooks: hooks)
            }
            try await body(StoreProcesses(conninfo: conninfo, pool: pool, stores: stores))
        }
        try await blocking { try PrivateCluster.shared().drop(conninfo) }
    }

    /// Runs `body` on a shard with a pool.
    static func onPool(
        _ target: ConnectionTarget, _ body: @escaping @Sendable (PostgresPool) async throws -> Void
    ) async throws {
        let shard = try Shard(index: 0)
        var configuration = PostgresConfiguration(target: target)
        // The tests of many suites run at once on two cores.
        configuration.timeLimit = .seconds(600)
        configuration.connectionTimeout = .seconds(600)
        let pool = PostgresPool(configuration, on: shard)
        try await Task(executorPreference: shard) {
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(pool))
            } catch {
                outcome = .failure(error)
            }
            await pool.shutDown()
            try outcome.get()
        }.value
    }

    /// Runs SQL, and returns the rows as text.
    @discardableResult
    func sql(_ text: String) async throws -> [[String]] {
        try await blocking { [conninfo] in try PrivateCluster.shared().query(text, database: conninfo) }
    }

    /// Ends the lease of a process, so that the others consider it dead.
    ///
    /// - Parameter isNoticed: whether another process has released its open replies already.
    func kill(_ store: PostgresConversationStore, isNoticed: Bool = false) async throws {
        _ = try await pool.run(Query(Self.endLease, .uuid(store.lease.id)))
        try await proveSteadiness()
        if isNoticed {
            _ = try await pool.run(LeaseStatements.releaseHeld(by: store.lease.id, before: "infinity"))
        }
    }

    /// Shows that the database was available for long: a process has renewed its lease all the time.
    func proveSteadiness() async throws {
        _ = try await pool.run(Query(Self.addWitness, .uuid(Self.witness)))
    }

    /// A process that has always been alive.
    static let witness = ReplyID(high: .max, low: .max)

    private static let endLease = Statement(
        "end_lease_for_good", .uuid, sql: "UPDATE chatterd_processes SET expires_at = '-infinity' WHERE id = $1")

    private static let addWitness = Statement(
        "add_witness", .uuid,
        sql: """
            INSERT INTO chatterd_processes (id, expires_at, since) VALUES ($1, 'infinity', '-infinity')
            ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, since = excluded.since
            """)

    /// The number of rows of a conversation in each table, without empty tables, and without the row that a conversation with messages
    /// has in `chatterd_conversations`.
    func rowCounts(of conversation: ConversationKey = "app") async throws -> [String: Int] {
        let tables = try await sql(
            "SELECT table_name FROM information_schema.columns WHERE column_name = 'appid' AND table_schema = 'public'")
        var counts: [String: Int] = [:]
        for table in tables.map({ $0[0] }) {
            let count = try await sql(
                "SELECT count(*) FROM \(table) WHERE appid IN ('\(conversation.text)', '\(conversation.text)' || E'\\x1F\\x1F')"
            )
            counts[table] = Int(count[0][0]).flatMap { $0 > 0 ? $0 : nil }
        }
        if counts["chatts"] != nil, counts["chatterd_conversations"] == 1 {
            counts["chatterd_conversations"] = nil
        }
        return counts
    }
}

extension ReplyID {
    static func random() -> ReplyID {
        var generator = SystemRandomNumberGenerator()
        return ReplyID(using: &generator)
    }
}

/// A turn that a test has opened.
struct StoredTurn: Sendable {
    let turn: Turn
    let id: ReplyID
    let history: TurnHistory

    var said: [String] { history.said }

    /// A reply that is stored at once.
    func closing(
        _ text: String = "", thinking: String = "", calls: String = "", as state: ReplyState = .complete,
        behind journalled: ReplyPosition = ReplyPosition(), lastEvent: String = "{\"done\":true}"
    ) -> ClosingReply {
        ClosingReply(
            id: id, journalled: journalled, text: Array(text.utf8), thinking: Array(thinking.utf8),
            toolCalls: Array(calls.utf8), ending: ReplyEnding(state: state, lastEvent: Array(lastEvent.utf8)))
    }

    /// The text of the reply from a position, as a journal entry.
    func entry(
        from start: ReplyPosition = ReplyPosition(), _ text: String = "", thinking: String = "", calls: String = ""
    ) -> JournalEntry {
        JournalEntry(
            turn: turn, id: id,
            page: ReplyPage(
                start: start, text: Array(text.utf8), thinking: Array(thinking.utf8), toolCalls: Array(calls.utf8)))
    }
}

/// New text of a reply.
struct JournalEntry {
    let turn: Turn
    let id: ReplyID
    let page: ReplyPage
}

extension PostgresConversationStore {
    /// Journals entries in rows of their replies, in a separate batch.
    func journal(_ entries: [JournalEntry]) async throws(RelayError) -> [ReplySignal] {
        let batch = makeJournalBatch()
        for entry in entries {
            batch.append(entry)
        }
        return try await journal([batch]).signals
    }

    /// Journals entries on a sheet.
    @discardableResult
    func journalOnSheet(_ entries: [JournalEntry], checksOwner: Bool = false) async throws(RelayError) -> JournalOutcome
    {
        let batch = makeJournalBatch()
        for entry in entries {
            var slot = SheetSlot()
            batch.appendToSheet(entry, slot: &slot)
            if checksOwner { batch.checkOwner(of: entry.turn, id: entry.id, attempt: entry.page.start.attempt) }
        }
        return try await journal([batch])
    }
}

extension JournalBatch {
    func append(_ entry: JournalEntry) {
        append(
            turn: entry.turn, id: entry.id, from: entry.page.start, text: entry.page.text.span,
            thinking: entry.page.thinking.span, toolCalls: entry.page.toolCalls.span)
    }

    func appendToSheet(_ entry: JournalEntry, slot: inout SheetSlot, generation: Int32 = 1) {
        appendToSheet(
            turn: entry.turn, id: entry.id, from: entry.page.start, slot: &slot, generation: generation,
            text: entry.page.text.span, thinking: entry.page.thinking.span, toolCalls: entry.page.toolCalls.span)
    }
}

extension TurnHistory {
    /// Role and text of the messages.
    var said: [String] {
        let json = Data("[".utf8) + Data(messages.json.array) + Data("]".utf8)
        let messages = try? JSONSerialization.jsonObject(with: json) as? [[String: Any]]
        return (messages ?? []).map { "\($0["role"] ?? "?") \($0["content"] ?? "?")" }
    }
}

extension PostgresConversationStore {
    /// Opens a turn that is new to the store.
    func open(
        _ prompts: String..., in conversation: ConversationKey = "app", id: ReplyID = .random(), options: String = "",
        parent: TurnParent? = nil, onInterrupt: InterruptPolicy = .close, reach: HistoryReach? = nil
    ) async throws -> StoredTurn {
        let opened = try await openTurn(
            NewTurn(
                conversation: conversation, prompts: prompts.map { ModelMessage(role: "user", content: $0) }, id: id,
                model: "m",
                options: Array(options.utf8), parent: parent, onInterrupt: onInterrupt, reach: reach))
        guard case .opened(let turn, let history, _) = opened else { throw TestFailure("the turn is known") }
        return StoredTurn(turn: turn, id: id, history: history)
    }

    /// Opens a turn and closes it.
    @discardableResult
    func exchange(
        _ prompt: String, _ answer: String, in conversation: ConversationKey = "app", parent: TurnParent? = nil,
        as state: ReplyState = .complete
    ) async throws -> StoredTurn {
        let opened = try await open(prompt, in: conversation, parent: parent)
        try await closeTurn(opened.turn, with: opened.closing(answer, as: state))
        return opened
    }

    /// The record of a reply that must be there.
    func record(_ opened: StoredTurn) async throws -> ReplyRecord {
        try #require(try await findReply(opened.id))
    }

    /// Reads a page without the steps of a running reply.
    func readReply(_ reply: ReplyRecord, from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        try await readReply(reply, from: position, steps: nil)
    }

    /// Reads a reply from a position to its end, or to the end of its present text.
    func readAll(_ reply: ReplyRecord, from start: ReplyPosition = ReplyPosition()) async throws -> [ReplyPage] {
        var pages = [try await readReply(reply, from: start)]
        while let last = pages.last, last.ending == nil, !last.isEmpty {
            pages.append(try await readReply(reply, from: last.end))
        }
        return pages
    }
}

extension ReplyPage {
    var words: String { String(decoding: text, as: UTF8.self) }
}

/// The code of the error that `body` throws.
func relayCode(_ body: () async throws -> Void) async -> RelayError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? RelayError)?.code
    }
}
