import ChatterdPostgres
import ChatterdTestSupport
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Databases of earlier versions and of the course's servers.
@Suite(.timeLimit(.minutes(30))) struct MigrationTests {
    @Test func processesThatStartAtOnceAllComeUp() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onThread {
            let database = try PrivateCluster.shared().makeEmptyDatabase()
            let environment = Stage.environment(upstream: upstream.url, database: database)
            let programs = try (0..<4).map { _ in try TestProgram("chatterd", ["serve"], environment: environment) }
            let ports = try programs.map { try $0.waitForPort() }
            try prolongLeases(in: database, of: .shared())
            for port in ports {
                try eventually("ready", isTrue: { try RawClient.get(port: port, "/readyz").status == 200 })
                Transcript(try RawClient.post(port: port, "/llmchat", json: chatBody("app", "x"))).check()
            }
            #expect(try StoredRow.all("app", in: database, of: .shared()).count == 8)
        }
    }

    /// The tables of the course's own servers, by the tool that creates them.
    static let foreignTables: [String] = [
        "username varchar(255), message varchar(255), id uuid, time timestamp DEFAULT CURRENT_TIMESTAMP",
        "username varchar(255), message varchar(255), id uuid, time timestamp DEFAULT now(), appID varchar(155)",
        """
        name varchar(32) NOT NULL, message text, id uuid DEFAULT gen_random_uuid(),
        time timestamptz DEFAULT CURRENT_TIMESTAMP, appID varchar(64)
        """,
        "username varchar(255), message varchar(255), time timestamp DEFAULT CURRENT_TIMESTAMP",
    ]

    @Test(arguments: foreignTables)
    func tableOfTheCourseServersIsAdoptedWithItsRows(table: String) async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            let sender = table.contains("username") ? "username" : "name"
            let hasApp = table.contains("appID")
            try cluster.query("CREATE TABLE chatts (\(table))", database: database)
            let rows = [
                ("user", "hello", 1), ("assistant", "old answer", 2), ("user", "same time", 3),
                ("assistant", "also", 3),
            ]
            for (name, message, second) in rows {
                try cluster.query(
                    "INSERT INTO chatts (\(sender), message, time\(hasApp ? ", appID" : "")) VALUES "
                        + "('\(name)', '\(message)', '2025-10-01 12:00:0\(second)'\(hasApp ? ", 'app'" : ""))",
                    database: database)
            }
            let stage = try Stage(upstream: upstream.url, database: database)
            defer { #expect(throws: Never.self) { try stage.stop() } }
            Transcript(try stage.chat("app", String(repeating: "long ", count: 200))).check()
            let old = rows.map { [$0.0, $0.1] }
            #expect(Array(upstream.requests[0].messages.dropLast()) == (hasApp ? old : []))
            let board = try RawClient.get(port: stage.port, "/getchatts")
            #expect(board.text.contains("old answer") == !hasApp)
            #expect(try cluster.query("SELECT count(*) FROM chatts", database: database) == [["6"]])
        }
    }

    @Test func turnsOfTheFirstVersionAreMigrated() async throws {
        let conninfo = try await blocking { try PrivateCluster.shared().makeEmptyDatabase() }
        let target = try ConnectionTarget(conninfo)
        let first = Migration.embedded.filter { $0.name < "0002" }
        _ = try await Migrator(first, target: target).run(timeout: .seconds(600))
        _ = try await blocking {
            try PrivateCluster.shared().query(
                """
                INSERT INTO chatts (appid, seq, turn, name, message, state, model, holder) VALUES
                ('app', 1, NULL, 'system', 's', NULL, NULL, NULL),
                ('app', 2, 4, 'user', 'a', NULL, NULL, gen_random_uuid()),
                ('app', 3, 4, 'user', 'b', NULL, NULL, gen_random_uuid()),
                ('app', 4, 4, 'assistant', '1', 'complete', 'm', NULL),
                ('app', 5, 6, 'user', 'open', NULL, NULL, gen_random_uuid())
                """, database: conninfo)
        }
        _ = try await Migrator(target).run(timeout: .seconds(600))
        let rows = try await blocking {
            try PrivateCluster.shared().query("SELECT seq, state, holder FROM chatts ORDER BY seq", database: conninfo)
        }
        #expect(
            rows == [
                ["1", "<null>", "<null>"], ["2", "prompt", "<null>"], ["3", "prompt", "<null>"],
                ["4", "complete", "<null>"], ["5", "prompt", "<null>"], ["6", "interrupted", "<null>"],
            ])
    }

    @Test func replyWithoutALeaseIsReleased() async throws {
        let conninfo = try await blocking { try PrivateCluster.shared().makeEmptyDatabase() }
        let target = try ConnectionTarget(conninfo)
        let earlier = Migration.embedded.filter { $0.name < "0005" }
        _ = try await Migrator(earlier, target: target).run(timeout: .seconds(600))
        _ = try await blocking {
            try PrivateCluster.shared().query(
                """
                INSERT INTO chatterd_processes VALUES ('11111111-1111-1111-1111-111111111111', now());
                INSERT INTO chatts (appid, seq, turn, name, message, state, holder) VALUES
                ('app', 1, 1, 'assistant', '', 'streaming', '11111111-1111-1111-1111-111111111111'),
                ('app', 2, 2, 'assistant', '', 'streaming', '22222222-2222-2222-2222-222222222222'),
                ('app', 3, 3, 'assistant', '', 'complete', '22222222-2222-2222-2222-222222222222')
                """, database: conninfo)
        }
        _ = try await Migrator(target).run(timeout: .seconds(600))
        let holders = try await blocking {
            try PrivateCluster.shared().query(
                "SELECT left(holder::text, 1) FROM chatts ORDER BY seq", database: conninfo)
        }
        #expect(holders == [["1"], ["0"], ["2"]])
    }

    /// After a rollback the database has expansions of a newer version.
    @Test func serverStartsOnADatabaseThatIsNewerByExpansions() async throws {
        let upstream = try ScriptedUpstream.answering(["ok"])
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeDatabase()
            try cluster.query("INSERT INTO chatterd_expansions VALUES ('9999_new', 'x')", database: database)
            let environment = Stage.environment(upstream: upstream.url, database: database)
            let program = try TestProgram("chatterd", ["serve"], environment: environment)
            let port = try program.waitForPort()
            try prolongLeases(in: database, of: cluster)
            try eventually("ready", isTrue: { try RawClient.get(port: port, "/readyz").status == 200 })
            Transcript(try RawClient.post(port: port, "/llmchat", json: chatBody("app", "x"))).check()
            // A contraction is refused.
            try cluster.query("INSERT INTO chatterd_migrations VALUES ('9999_old', 'x')", database: database)
            let second = try TestProgram("chatterd", ["serve"], environment: environment)
            #expect(try second.waitForExit() == 1)
            #expect(second.lines.contains { $0.contains("does not know: 9999_old; start a newer chatterd") })
        }
    }

    @Test func dryRunOfMigrateChangesNothing() async throws {
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            let environment = Stage.environment(upstream: "http://127.0.0.1:9", database: database)
            let program = try TestProgram("chatterd", ["migrate", "--dry-run"], environment: environment)
            #expect(try program.waitForExit() == 0)
            #expect(try cluster.query("SELECT FROM pg_class WHERE relname ^@ 'chatt'", database: database).isEmpty)
        }
    }

    @Test func changedMigrationIsRefused() async throws {
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            let environment = Stage.environment(upstream: "http://127.0.0.1:9", database: database)
            let first = try TestProgram("chatterd", ["migrate"], environment: environment)
            #expect(try first.waitForExit() == 0)
            let again = try TestProgram("chatterd", ["migrate"], environment: environment)
            #expect(try again.waitForExit() == 0)
            let table = try cluster.query(
                "SELECT table_name FROM information_schema.columns WHERE column_name = 'checksum'", database: database)
            let name = try #require(table.first?.first)
            try cluster.query("UPDATE \(name) SET checksum = 'other'", database: database)
            let third = try TestProgram("chatterd", ["migrate"], environment: environment)
            #expect(try third.waitForExit() == 1)
        }
    }
}
