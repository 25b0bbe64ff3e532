import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdCommand

/// What `chatterd doctor` says of a database.
@Suite(.timeLimit(.minutes(30))) struct DatabaseCheckTests {
    private func lines(_ database: String, _ more: [String: String] = [:]) async throws -> [String] {
        let configuration = try Configuration(
            environment: ["DATABASE_URL": database, "CHATTERD_STORE_TIMEOUT": "10m"].merging(more) { $1 },
            database: .optional)
        return await DatabaseCheck(configuration).run().map(\.description)
    }

    @Test func databaseOfThisVersionIsFine() async throws {
        let database = try await blocking { try PrivateCluster.shared().makeDatabase() }
        let lines = try await lines(database)
        for beginning in [
            "ok    PostgreSQL: version ", "ok    connections: a process opens up to ",
            "ok    writing: the database takes writes, and has room", "ok    migrations: all ",
        ] {
            #expect(lines.contains { $0.hasPrefix(beginning) }, "\(beginning): \(lines)")
        }
    }

    @Test(arguments: [
        (
            "INSERT INTO chatterd_migrations VALUES ('9999_new', 'x')",
            "the database is newer than this program: it has 9999_new"
        ),
        (
            "UPDATE chatterd_migrations SET checksum = 'x' WHERE name = '0005_lifecycle'",
            "0005_lifecycle was changed after it was applied"
        ),
        (
            "DELETE FROM chatterd_migrations WHERE name = '0023_lists'",
            "0023_lists not applied; run `chatterd migrate`"
        ),
    ])
    func databaseThatTheServerRefusesIsNotFine(change: String, finding: String) async throws {
        let cluster = try PrivateCluster.shared()
        let database = try await blocking {
            let database = try cluster.makeDatabase()
            try cluster.query(change, database: database)
            return database
        }
        let lines = try await lines(database)
        #expect(lines.contains { $0.hasPrefix("FAIL  migrations: \(finding)") }, "\(lines)")
    }

    @Test func databaseWithoutSpaceIsNotFine() async throws {
        let cluster = try PrivateCluster.shared()
        let database = try await blocking {
            let database = try cluster.makeDatabase()
            try cluster.query(
                """
                CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;
                CREATE TRIGGER is_full BEFORE INSERT ON chatterd_attachments EXECUTE FUNCTION is_full()
                """, database: database)
            return database
        }
        let lines = try await lines(database)
        #expect(lines.contains { $0.hasPrefix("FAIL  writing: ") && $0.contains("53100") }, "\(lines)")
    }

    @Test func roleWithFewRightsIsNotFine() async throws {
        let cluster = try PrivateCluster.shared()
        let role = "limited_\(UInt32.random(in: 0 ... .max))"
        let database = try await blocking {
            let database = try cluster.makeEmptyDatabase()
            try cluster.query(
                "CREATE ROLE \(role) LOGIN CONNECTION LIMIT 5; REVOKE CREATE ON SCHEMA public FROM PUBLIC",
                database: database)
            return database
        }
        let lines = try await lines("\(database) user=\(role)", ["CHATTERD_SHARDS": "2"])
        #expect(
            lines.contains { $0.hasPrefix("FAIL  connections: a process opens up to 10 of 5 connections") }, "\(lines)")
        #expect(
            lines.contains {
                $0.hasPrefix("FAIL  migrations: ") && $0.contains("not applied; as the owner of the schema")
            },
            "\(lines)")
        _ = try await blocking { try cluster.query("DROP ROLE \(role)", database: database) }
    }
}
