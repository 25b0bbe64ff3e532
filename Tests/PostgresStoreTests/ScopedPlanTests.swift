import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgres
@testable import ChatterdPostgresStore

/// The plans of all statements that run as the role of requests, in a table with one large conversation among small ones. Row-level security
/// keeps PostgreSQL from using a condition with the index unless it takes the condition for one that leaks no row.
@Suite(.timeLimit(.minutes(30))) struct ScopedPlanTests {
    /// The statements that read all rows of a conversation once, and why.
    private static let wholeReaders: [String: String] = [
        "replace": "removes all rows",
        "conversation_end": "counts the rows, before the second piece of an import",
        "expire_rows": "looks for running replies of a conversation that is as old as the retention",
    ]

    private static let statements = ScopedStatements(
        key: ConversationKey(Owner(app: "big")), reply: ReplyID(high: 1, low: 1), number: 39_000,
        process: ReplyID(high: 0, low: 7), running: ReplyID(high: 1, low: 2), runningNumber: 40_000
    ).all

    @Test func scopedStatementsAreAllExplained() throws {
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        var scoped: Set<String> = []
        for case let file as URL in FileManager.default.enumerator(
            at: URL(filePath: root + "/Sources"), includingPropertiesForKeys: nil) ?? .init()
        where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            scoped.formUnion(
                source.matches(of: #/Statement\(\s*"([a-z_]+)",\s*after: \.rowScope/#).map { String($0.1) })
        }
        #expect(scoped.count > 70)
        #expect(Set(Self.statements.map(\.name)).symmetricDifference(scoped).sorted() == [])
    }

    @Test func scopedStatementsReadNoMoreThanTheyNeed() async throws {
        try await StoreProcesses.run { processes in
            // A cluster of tests has no autovacuum: the statistics of the small conversations stay until the end.
            try await processes.sql(Self.rows("'app' || n / 10", "n % 10 + 1", through: 29_999))
            try await processes.sql("ANALYZE")
            try await processes.sql(Self.rows("'big'", "n + 1", through: 39_999))
            try await Self.check(processes, "stale statistics")
            try await processes.sql("ANALYZE")
            try await Self.check(processes, "fresh statistics")
            // The check itself, with shapes that statements have had.
            for sql in Self.wrong {
                let faults = try await Self.plan(of: sql, types: ["int8"], processes).faults(mayReadAll: false)
                #expect(!faults.isEmpty, "\(sql)")
            }
        }
    }

    /// Turns of one prompt and one reply. Some follow an earlier one.
    private static func rows(_ key: String, _ seq: String, through last: Int) -> String {
        """
        SET chatterd.owner = '*';
        INSERT INTO chatts (
            appid, seq, turn, name, message, state, id, model, attempt, finished, opened, closed, floor, total, holder, after,
            history)
        SELECT a, s, (s + 1) / 2 * 2, CASE s % 2 WHEN 0 THEN 'assistant' ELSE 'user' END, repeat('word ', 20),
            CASE s % 2 WHEN 0 THEN 'complete' ELSE 'prompt' END, gen_random_uuid(), 'm', 1, now(), s, s, s - 1, s * 100,
            CASE s % 2 WHEN 0 THEN '00000000-0000-0000-0000-000000000007'::uuid END,
            CASE WHEN s % 10 = 1 AND s > 10 THEN s - 5 END, CASE s % 4 WHEN 0 THEN gen_random_uuid() END
        FROM generate_series(0, \(last)) AS g (n), LATERAL (SELECT \(key), \(seq)) AS r (a, s);
        INSERT INTO chatterd_conversations (appid, owner)
        SELECT DISTINCT appid, appid || E'\\x1F\\x1F' FROM chatts ON CONFLICT DO NOTHING
        """
    }

    private static func check(_ processes: StoreProcesses, _ statistics: String) async throws {
        for statement in statements {
            let plan = try await plan(of: statement.sql, types: statement.typeNames, processes)
            let faults = plan.faults(mayReadAll: wholeReaders[statement.name] != nil)
            #expect(faults.isEmpty, "\(statement.name) with \(statistics): \(faults.joined(separator: "; "))")
        }
    }

    /// The plan of a statement, as chatterd's own sessions plan it: without a look at the parameters.
    private static func plan(
        of sql: String, types: [String], _ processes: StoreProcesses
    ) async throws -> ExplainedPlan {
        let lines = try await processes.sql(
            """
            BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL ROLE chatterd_member;
            SET LOCAL chatterd.owner = E'big\\x1F\\x1F';
            PREPARE statement(\(types.joined(separator: ", "))) AS \(sql);
            EXPLAIN (FORMAT JSON, VERBOSE) EXECUTE statement(\(types.map { _ in "NULL" }.joined(separator: ", "))); COMMIT
            """)
        let document = lines.map { $0.joined() }.joined(separator: "\n")
        return try #require(ExplainedPlan(document), "\(sql): \(document)")
    }

    private static let wrong = [
        "SELECT FROM chatts WHERE appid = 'big' AND seq > coalesce((SELECT max(revision) FROM chatterd_changes), $1)",
        """
        SELECT p.id FROM chatts r JOIN chatts p ON p.appid = 'big' AND p.seq = coalesce(r.after, r.turn)
        WHERE r.appid = 'big' AND r.seq = $1
        """,
        "SELECT count(*) FROM chatts WHERE appid = 'big' AND turn = $1", "SELECT FROM chatts WHERE turn = $1",
    ]
}
