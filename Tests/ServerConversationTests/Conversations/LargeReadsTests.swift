import ChatterdTestSupport
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Large reads do not delay prompts and other readers.
@Suite(.timeLimit(.minutes(30))) struct LargeReadsTests {
    /// The reads wait here because another session locks the journal, as they would behind a result that takes long. Their number exceeds
    /// the connections of the process.
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
}

/// A lock that a separate session keeps.
private final class SessionLock: Sendable {
    private let stage: Stage
    private static let name = "holder of a lock"

    init(_ statement: String, _ stage: Stage) throws {
        self.stage = stage
        startThread {
            _ = try? stage.cluster.query(
                "SET application_name = '\(Self.name)'; BEGIN; \(statement); SELECT pg_sleep(3600)",
                database: stage.database)
        }
        try eventually(
            "the lock is held", isTrue: { try Self.count("mode = 'AccessExclusiveLock' AND granted", stage) > 0 })
    }

    /// The number of sessions that wait for the lock.
    func waiting(in stage: Stage) throws -> Int { try Self.count("NOT granted", stage) }

    func release() throws {
        try stage.cluster.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '\(Self.name)'",
            database: stage.database)
    }

    private static func count(_ condition: String, _ stage: Stage) throws -> Int {
        let rows = try stage.cluster.query(
            """
            SELECT count(*) FROM pg_locks WHERE \(condition) AND relation = 'chatterd_journal'::regclass
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """, database: stage.database)
        return rows.first?.first.flatMap { Int($0) } ?? 0
    }
}
