import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// Large reads delay neither prompts nor other readers.
@Suite(.timeLimit(.minutes(30))) struct LargeReadsTests {
    /// The reads wait here because another session locks the journal, as they would behind a result that takes long. There
    /// are more of them than all connections of the process take at once.
    @Test func promptsDoNotWaitBehindReads() async throws {
        let upstream = try ScriptedUpstream([.streamHead, .chunk(ModelLine.done(content: "kept")), .endChunks])
        try await onStage(upstream: upstream.url, environment: [.shards: "1"]) { stage in
            let (author, path) = try stage.begin("app", "one")
            #expect(author.readEvents().last { $0.data != nil }?.data?.contains("\"done\":true") == true)
            let lock = try SessionLock("LOCK TABLE chatterd_journal IN ACCESS EXCLUSIVE MODE", stage)
            let readers = try (0..<200).map { _ in
                let client = try RawClient(port: stage.port)
                client.request("GET", path)
                #expect(try client.readHead().status == 200)
                return client
            }
            try eventually("the reads wait", isTrue: { try lock.waiting(in: stage) > 0 })
            let prompt = try RawClient(port: stage.port)
            prompt.post("/llmchat", json: chatBody("another", "two"))
            #expect(try prompt.readHead().status == 200)
            try lock.release()
            for reader in readers {
                #expect(reader.readEvents().compactMap(\.data).joined().contains("kept"))
            }
        }
    }

    /// 8 MB at 256 KiB a page; each page alone would unpack the whole text.
    @Test func readersOfALongReplyShareItsPages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let text = String(repeating: "0123456789é京👋", count: 120_000)
            let opened = try await store.open("p")
            try await store.closeTurn(opened.turn, with: opened.closing(text))
            let record = try await store.record(opened)
            #expect(try await store.readAll(record).map(\.words).joined() == text)
            // The shared page is kept: the store is not asked again.
            try await processes.sql("UPDATE chatts SET message = 'x' WHERE state = 'complete'")
            #expect(try await store.readAll(record).map(\.words).joined() == text)
        }
    }

    /// A reader that begins in the middle gets to the pages of the other readers.
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

/// A lock that a separate session keeps.
private final class SessionLock: Sendable {
    private let stage: Stage
    private static let name = "holder of a lock"

    init(_ statement: String, _ stage: Stage) throws {
        self.stage = stage
        startThread {
            _ = try? stage.cluster.psql(
                "SET application_name = '\(Self.name)'; BEGIN; \(statement); SELECT pg_sleep(3600)",
                database: stage.database)
        }
        try eventually(
            "the lock is held", isTrue: { try Self.count("mode = 'AccessExclusiveLock' AND granted", stage) > 0 })
    }

    /// The number of sessions that wait for the lock.
    func waiting(in stage: Stage) throws -> Int { try Self.count("NOT granted", stage) }

    func release() throws {
        try stage.cluster.psql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(Self.name)'",
            database: stage.database)
    }

    private static func count(_ condition: String, _ stage: Stage) throws -> Int {
        let rows = try stage.cluster.psql(
            """
            SELECT count(*) FROM pg_locks WHERE \(condition) AND relation = 'chatterd_journal'::regclass
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """, database: stage.database)
        return rows.first?.first.flatMap { Int($0) } ?? 0
    }
}
