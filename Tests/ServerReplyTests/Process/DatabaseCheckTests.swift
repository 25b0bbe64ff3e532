import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdCommand

/// What `chatterd doctor` says of a database.
@Suite(.timeLimit(.minutes(30))) struct DatabaseCheckTests {
    private func lines(
        _ database: String, _ more: [String: String] = [:],
        now: @escaping @Sendable () -> Int64 = DatabaseCheck.systemClock
    ) async throws -> [String] {
        let configuration = try Configuration(
            environment: ["DATABASE_URL": database, "CHATTERD_STORE_TIMEOUT": "10m"].merging(more) { $1 },
            database: .optional)
        return await DatabaseCheck(configuration, now: now).run().map(\.description)
    }

    /// The lines about a new database after a change.
    private func lines(after change: String, _ more: [String: String] = [:]) async throws -> [String] {
        let database = try await blocking {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeDatabase()
            try cluster.query(change, database: database)
            return database
        }
        return try await lines(database, more)
    }

    @Test func databaseOfThisVersionIsFine() async throws {
        let database = try await blocking { try PrivateCluster.shared().makeDatabase() }
        let lines = try await lines(database)
        for beginning in [
            "ok    PostgreSQL: version ", "ok    connections: a process opens up to ",
            "ok    writing: the database takes writes, and has room", "ok    migrations: all ",
            "ok    clock: this machine's agrees with the database's", "ok    isolation: ", "ok    functions: ",
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
            "0023_lists not applied, though later ones are; put the rows back"
        ),
    ])
    func databaseThatTheServerRefusesIsNotFine(change: String, finding: String) async throws {
        let lines = try await lines(after: change)
        #expect(lines.contains { $0.hasPrefix("FAIL  migrations: \(finding)") }, "\(lines)")
    }

    @Test func databaseThatIsNewerByExpansionsIsFine() async throws {
        let lines = try await lines(after: "INSERT INTO chatterd_expansions VALUES ('9999_new', 'x')")
        #expect(
            lines.contains {
                $0.hasPrefix("ok    migrations: all ")
                    && $0.hasSuffix(" are applied; the database is newer by expansions: 9999_new")
            }, "\(lines)")
    }

    @Test(arguments: [(3_600 as Int64, "ahead of"), (-3_600, "behind")])
    func clockThatDiffersIsAWarning(seconds: Int64, words: String) async throws {
        let database = try await blocking { try PrivateCluster.shared().makeDatabase() }
        let lines = try await lines(database) { DatabaseCheck.systemClock() + seconds * 1_000_000 }
        let line = try #require(lines.first { $0.hasPrefix("warn  clock: this machine's is ") }, "\(lines)")
        #expect(line.contains(" s \(words) the database's; "))
        // The machine may stand still while the database answers.
        let number = line.split(separator: " ").compactMap { Int($0) }.first ?? 0
        #expect(3_000...3_600 ~= number, "\(line)")
    }

    @Test func connectionsOfAllLiveProcessesCount() async throws {
        let lines = try await lines(
            after: """
                INSERT INTO chatterd_processes (id, expires_at)
                SELECT gen_random_uuid(), now() + i * interval '1 day' FROM generate_series(-1, 100) AS i WHERE i <> 0
                """, ["CHATTERD_SHARDS": "4"])
        #expect(lines.contains { $0.hasPrefix("FAIL  connections: 100 processes open up to 1800 of ") }, "\(lines)")
    }

    @Test func otherModelServersOfLiveProcessesAreAWarning() async throws {
        let change = """
            INSERT INTO chatterd_upstreams (name, definition, origin, place, revision)
            VALUES ('gone', '{}', 'environment', 1, 1), ('added', '{}', 'api', 2, 2)
            """
        let live =
            "; INSERT INTO chatterd_processes (id, expires_at) VALUES (gen_random_uuid(), now() + interval '1 day')"
        let environment = ["CHATTERD_UPSTREAMS": #"[{"name":"new","kind":"openai","url":"http://127.0.0.1:1"}]"#]
        let lines = try await lines(after: change + live, environment)
        #expect(
            lines.contains {
                $0.hasPrefix("warn  model list: processes run that were started with other model servers")
                    && $0.contains(" has: new, gone; ")
            }, "\(lines)")
        let alone = try await self.lines(after: change, environment)
        #expect(!alone.contains { $0.contains("model list") }, "\(alone)")
    }

    @Test func missingDatabaseIsNamed() async throws {
        let cluster = try PrivateCluster.shared()
        let lines = try await lines(cluster.conninfo(database: "no_such"), ["CHATTERD_STORE_TIMEOUT": "1s"])
        #expect(lines.count == 1)
        #expect(lines[0].hasPrefix("FAIL  PostgreSQL: ") && lines[0].contains("; create the database"), "\(lines)")
    }

    @Test func databaseWithoutSpaceIsNotFine() async throws {
        let lines = try await lines(
            after: """
                CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;
                CREATE TRIGGER is_full BEFORE INSERT ON chatterd_attachments EXECUTE FUNCTION is_full()
                """)
        #expect(lines.contains { $0.hasPrefix("FAIL  writing: ") && $0.contains("53100") }, "\(lines)")
    }

    @Test func tablesOfAnotherRoleAreNamed() async throws {
        let cluster = try PrivateCluster.shared()
        let role = "stranger_\(UInt32.random(in: 0 ... .max))"
        let database = try await blocking {
            let database = try cluster.makeDatabase()
            try cluster.query("CREATE ROLE \(role) LOGIN", database: database)
            return database
        }
        let lines = try await lines("\(database) user=\(role)")
        #expect(
            lines.contains {
                $0.hasPrefix("FAIL  tables: ")
                    && $0.contains(" more belong to the role postgres, not to \(role); name the role postgres")
            }, "\(lines)")
        #expect(
            lines.contains {
                $0.hasPrefix("FAIL  migrations: insufficientPrivilege (42501)")
                    && $0.contains("; name the role that owns")
            },
            "\(lines)")
        _ = try await blocking { try cluster.query("DROP ROLE \(role)", database: database) }
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
