import ChatterdPostgres
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Other roles of the database run no code as the role of chatterd.
@Suite(.timeLimit(.minutes(30))) struct FunctionPrivilegeTests {
    /// The functions of chatterd that PUBLIC may execute, or that run as their owner with another path than they should.
    private static let wrong = """
        SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE p.proname LIKE 'chatterd%' AND (
            has_function_privilege('public', p.oid, 'EXECUTE')
            OR p.prosecdef AND p.proconfig IS DISTINCT FROM ARRAY['search_path=public, pg_temp'])
        """

    @Test func functionsOfAllMigrationsAreProtected() async throws {
        try await StoreProcesses.run { processes in
            let definers = try await processes.sql(
                "SELECT count(*) FROM pg_proc WHERE proname LIKE 'chatterd%' AND prosecdef")
            #expect(definers.first?.first.flatMap { Int($0) } ?? 0 >= 13)
            #expect(try await processes.sql(Self.wrong) == [])
            #expect(try await processes.pool.run(FunctionPrivileges.unprotected).isEmpty)
        }
    }

    @Test func functionOfALaterMigrationIsProtected() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                CREATE FUNCTION chatterd_later() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS '';
                GRANT EXECUTE ON FUNCTION chatterd_later() TO chatterd_member
                """)
            #expect(Array(try await processes.pool.run(FunctionPrivileges.unprotected)) == ["chatterd_later()"])
            let migrator = Migrator(try ConnectionTarget(processes.conninfo))
            let outcome = try await migrator.run(timeout: .seconds(600))
            #expect(outcome.description == "set the rights of the functions chatterd_later()")
            #expect(try await migrator.run(timeout: .seconds(600)).description == "nothing to migrate")
            #expect(try await processes.sql(Self.wrong) == [])
            #expect(
                try await processes.sql(
                    "SELECT has_function_privilege('chatterd_member', 'chatterd_later()', 'EXECUTE')")
                    == [["f"]])
        }
    }

    @Test func strangerExecutesNoFunction() async throws {
        try await StoreProcesses.run { processes in
            let name = try await processes.sql("SELECT 'stranger_' || current_database()")[0][0]
            try await processes.sql("CREATE ROLE \(name)")
            for call in [
                "SELECT chatterd_charge(NULL, gen_random_uuid(), NULL, 'key x', 'y', 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL)",
                "SELECT chatterd_members('app', '')", "SELECT chatterd_sheet_pieces('{}')",
                "SELECT chatterd_turn_sheets(interval '0', 0, interval '0')",
            ] {
                await #expect(throws: TestFailure.self, "\(call)") {
                    try await processes.sql("SET ROLE \(name); \(call)")
                }
            }
        }
    }

    @Test func temporaryTableTakesNoPlaceOfATable() async throws {
        try await StoreProcesses.run { processes in
            let rows = try await processes.sql(
                """
                CREATE TEMPORARY TABLE chatterd_charges (reply uuid);
                INSERT INTO chatterd_charges VALUES ('00000000-0000-0000-0000-000000000001');
                SELECT FROM chatterd_remove_withdrawn('00000000-0000-0000-0000-000000000001');
                SELECT count(*) FROM chatterd_charges
                """)
            #expect(rows.last == ["1"])
        }
    }

    @Test func schemaInWhichAnyRoleMayCreateIsNoticed() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            #expect(try await processes.pool.run(FunctionPrivileges.openSchema).isEmpty)
            try await processes.sql("GRANT CREATE ON SCHEMA public TO PUBLIC")
            #expect(try await processes.pool.run(FunctionPrivileges.openSchema).first == "public")
        }
    }
}
