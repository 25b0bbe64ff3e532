import ChatterdConfiguration
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdServer
import ChatterdSockets

/// The doctor's check of the database: reachable, new enough, writable, migrated.
struct DatabaseCheck: Sendable {
    private static let state = Statement(
        "doctor",
        sql: """
            SELECT current_setting('server_version'), current_setting('server_version_num')::int8,
                pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                to_regclass('chatterd_migrations') IS NOT NULL
            """
    ) { row in
        State(
            version: row.nextText(), versionNumber: row.nextInt(), isReadOnly: row.nextBool(),
            hasMigrations: row.nextBool())
    }
    private static let applied = Statement("doctor_migrations", sql: "SELECT name FROM chatterd_migrations") { row in
        row.nextText()
    }

    private struct State {
        let version: String
        /// As `140005` for version 14.5.
        let versionNumber: Int
        let isReadOnly: Bool
        /// Whether the table of applied migrations exists.
        let hasMigrations: Bool
    }

    private static let oldestVersion = 140_000

    private let configuration: Configuration

    init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    func run() async -> [Doctor.Check] {
        do {
            let shard = try Shard(index: 0)
            let store = PostgresConfiguration(target: try ConnectionTarget(configuration.store.database))
            return await Task(executorPreference: shard) {
                let pool = PostgresPool(store, on: shard)
                let checks = await Self.check(pool)
                await pool.shutDown()
                return checks
            }.value
        } catch {
            return [.wrong("PostgreSQL", "\(error)", advice: "correct DATABASE_URL")]
        }
    }

    /// Whether row-level security isolates owners from each other, behind the checks of the server.
    private static func isolation(_ pool: PostgresPool) async throws(PostgresError) -> Doctor.Check {
        guard try await pool.run(MemberRole.isUsableQuery).first == true else {
            return .wrong(
                "isolation",
                "the database role may not use the role chatterd_member: only the server itself keeps owners apart",
                advice: "as a superuser: \(MemberRole.advice), then `chatterd migrate`")
        }
        return .fine("isolation", "row-level security keeps owners apart")
    }

    /// Whether other roles of the database are kept from running code as the role of chatterd.
    private static func functions(_ pool: PostgresPool) async throws(PostgresError) -> [Doctor.Check] {
        let open = Array(try await pool.run(FunctionPrivileges.unprotected))
        var checks: [Doctor.Check] = []
        if open.isEmpty {
            checks.append(.fine("functions", "other roles of the database may not execute those of chatterd"))
        } else {
            checks.append(
                .wrong(
                    "functions",
                    "any role that can connect may execute \(open.joined(separator: ", ")), or change what they do",
                    advice: "run `chatterd migrate` as the role that owns them"))
        }
        if let schema = try await pool.run(FunctionPrivileges.openSchema).first {
            checks.append(
                .wrong(
                    "schema", "any role that can connect may create functions in the schema \(schema)",
                    advice: "as its owner: REVOKE CREATE ON SCHEMA \(schema) FROM PUBLIC"))
        }
        return checks
    }

    private static func check(_ pool: PostgresPool) async -> [Doctor.Check] {
        do throws(PostgresError) {
            let state = try await pool.run(Query(state)).first
            var checks: [Doctor.Check] = []
            let version = state?.version ?? "unknown"
            if state?.versionNumber ?? 0 >= oldestVersion {
                checks.append(.fine("PostgreSQL", "version \(version) answers"))
            } else {
                checks.append(.wrong("PostgreSQL", "version \(version)", advice: "version 14 or newer is needed"))
            }
            if state?.isReadOnly == true {
                checks.append(
                    .wrong("writing", "the database takes no writes", advice: "connect to the primary"))
            } else {
                checks.append(.fine("writing", "the database takes writes"))
            }
            let known = Migration.embedded.map(\.name)
            var present: [String] = []
            if state?.hasMigrations == true {
                present = Array(try await pool.run(Query(applied)))
            }
            let missing = known.filter { !present.contains($0) }
            checks.append(
                missing.isEmpty
                    ? .fine("migrations", "all \(known.count) are applied")
                    : .wrong(
                        "migrations", "\(missing.joined(separator: ", ")) not applied",
                        advice: "run `chatterd migrate`; `chatterd serve` does it too"))
            if missing.isEmpty {
                checks.append(try await isolation(pool))
                checks += try await functions(pool)
            }
            return checks
        } catch {
            return [.wrong("PostgreSQL", "\(error)", advice: "is it running, and is DATABASE_URL right?")]
        }
    }
}
