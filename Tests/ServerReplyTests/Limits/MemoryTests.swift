import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The memory of the real program, as the system counts it, with a budget of 256 MiB.
@Suite(.timeLimit(.minutes(30))) struct MemoryTests {
    private static let mebi = 1 << 20
    /// The maximum memory in bytes: 1.2 budgets.
    private static let most = 256 * mebi / 5 * 6

    private struct Relay: Sendable {
        let program: TestProgram
        let port: Int
        let database: String

        init(_ upstream: String) throws {
            database = try PrivateCluster.shared().makeDatabase()
            program = try TestProgram(
                "chatterd", ["serve"],
                environment: Stage.environment(
                    upstream: upstream, database: database, [.memory: "256MiB", .shards: "2"]))
            port = try program.waitForPort()
        }
    }

    /// Runs the same body on several threads, and waits for all of them.
    private static func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let results = Monitor<[Bool]>([])
        for number in 0..<count {
            startThread {
                let isFine = (try? body(number)) != nil
                results.withLock { $0.append(isFine) }
            }
        }
        let all = results.wait(until: { $0.count == count ? $0 : nil })
        #expect(all?.allSatisfy { $0 } == true)
    }

    @Test(.enabled(if: isLongRun, "the test takes a minute: script/test --all"))
    func failedTurnsAreNotLoaded() async throws {
        let upstream = try ScriptedUpstream(.error(400, "no"))
        try await onThread {
            let relay = try Relay(upstream.url)
            let long = String(repeating: "x", count: 7 * Self.mebi)
            for _ in 0..<12 {
                let answer = try RawClient.post(port: relay.port, "/llmchat", json: chatBody("app", long))
                #expect(answer.status == 200)
            }
            try Self.atOnce(16) { number in
                let answer = try RawClient.post(port: relay.port, "/llmchat", json: chatBody("app", "prompt \(number)"))
                #expect(answer.status == 200 || answer.status == 503)
            }
            #expect(try relay.program.peakMemory() < Self.most)
            // The server continues to serve.
            #expect(try RawClient.get(port: relay.port, "/readyz").status == 200)
        }
    }

    @Test func longRowsOfTheBoardAreNotLoaded() async throws {
        try await onThread {
            let relay = try Relay("http://127.0.0.1:9")
            try PrivateCluster.shared().query(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT '', n, 'old', repeat('x', 8000000) FROM generate_series(1, 25) AS n
                """, database: relay.database)
            try Self.atOnce(12) { _ in
                let answer = try RawClient.get(port: relay.port, "/getchatts")
                #expect(answer.status == 200)
            }
            #expect(try relay.program.peakMemory() < Self.most)
        }
    }

    /// Clients that do not read hold a page each.
    @Test func longConversationIsNotLoadedForItsExport() async throws {
        try await onThread {
            let relay = try Relay("http://127.0.0.1:9")
            try PrivateCluster.shared().query(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT 'app', n, 'user', repeat('x', 1000000) FROM generate_series(1, 100) AS n
                """, database: relay.database)
            let stalled = try (0..<12).map { _ in
                let client = try RawClient(port: relay.port, receiveBuffer: 4_096)
                client.request("GET", "/conversations/app/export")
                #expect(try client.readHead(of: "GET").status == 200)
                return client
            }
            let export = try RawClient.get(port: relay.port, "/conversations/app/export")
            #expect(export.end == .complete && export.body.count > 100_000_000)
            #expect(export.text.hasSuffix("{\"end\":true,\"rows\":100}\n"))
            #expect(try relay.program.peakMemory() < Self.most)
            for client in stalled {
                client.reset()
            }
        }
    }

    @Test func manyLargePromptsAreServedOrRefused() async throws {
        let upstream = try ScriptedUpstream(.error(400, "no"))
        try await onThread {
            let relay = try Relay(upstream.url)
            let long = String(repeating: "x", count: 7 * Self.mebi)
            try Self.atOnce(40) { number in
                let answer = try RawClient.post(port: relay.port, "/llmchat", json: chatBody("app\(number)", long))
                #expect(answer.status == 200 || answer.status == 503)
                if answer.status == 503 {
                    #expect((answer.json["error"] as? String)?.contains("CHATTERD_MEMORY") == true)
                    #expect(answer["Retry-After"] == "1")
                }
            }
            #expect(try relay.program.peakMemory() < Self.most)
        }
    }
}
