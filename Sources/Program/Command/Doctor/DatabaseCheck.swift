import ChatterdConfiguration
import ChatterdCryptography
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdSockets

/// The doctor's check of the database: reachable, new enough, writable, migrated.
struct DatabaseCheck: Sendable {
    private static let state = Statement(
        "doctor",
        sql: """
            SELECT current_setting('server_version'), current_setting('server_version_num')::int8,
                pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                to_regclass('chatterd_migrations') IS NOT NULL,
                coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
                least(
                    current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8,
                    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
                    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()))
            """
    ) { row in
        State(
            version: row.nextText(), versionNumber: row.nextInt(), isReadOnly: row.nextBool(),
            hasMigrations: row.nextBool(), mayCreate: row.nextBool(), connections: row.nextInt())
    }
    private static let applied = Statement(
        "doctor_migrations", sql: "SELECT name, checksum FROM chatterd_migrations ORDER BY name"
    ) { row in
        (name: row.nextText(), checksum: row.nextText())
    }

    private struct State {
        let version: String
        /// As `140005` for version 14.5.
        let versionNumber: Int
        let isReadOnly: Bool
        /// Whether the table of applied migrations exists.
        let hasMigrations: Bool
        /// Whether the role may create tables.
        let mayCreate: Bool
        /// The number of connections that the server allows the role in this database.
        let connections: Int
    }

    private static let oldestVersion = 140_000

    private let configuration: Configuration

    init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    func run() async -> [Doctor.Check] {
        do {
            let shard = try Shard(index: 0)
            var store = PostgresConfiguration(target: try ConnectionTarget(configuration.store.database))
            // The timeouts of serving: the doctor is no more patient than requests are.
            store.connectionTimeout = configuration.store.timeout
            store.timeLimit = configuration.store.timeout
            return await Task(executorPreference: shard) {
                let pool = PostgresPool(store, on: shard)
                let checks = await check(pool)
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

    private func check(_ pool: PostgresPool) async -> [Doctor.Check] {
        do throws(PostgresError) {
            guard let state = try await pool.run(Query(Self.state)).first else { return [] }
            var checks: [Doctor.Check] = []
            if state.versionNumber >= Self.oldestVersion {
                checks.append(.fine("PostgreSQL", "version \(state.version) answers"))
            } else {
                checks.append(
                    .wrong("PostgreSQL", "version \(state.version)", advice: "version 14 or newer is needed"))
            }
            checks.append(connections(state))
            let present = state.hasMigrations ? Array(try await pool.run(Query(Self.applied))) : []
            let (migrations, areComplete) = Self.migrations(present, state)
            checks.append(await Self.writing(pool, state, areComplete: areComplete))
            checks.append(migrations)
            if areComplete {
                checks.append(try await Self.isolation(pool))
                checks += try await Self.functions(pool)
            }
            return checks
        } catch {
            return [.wrong("PostgreSQL", "\(error)", advice: "is it running, and is DATABASE_URL right?")]
        }
    }

    /// Whether a process gets the connections that it is configured for.
    private func connections(_ state: State) -> Doctor.Check {
        let wanted = configuration.store.connections * configuration.server.shards + ProcessKeeper.connections
        let text = "a process opens up to \(wanted) of \(state.connections) connections"
        guard wanted <= state.connections else {
            return .wrong(
                "connections", text,
                advice:
                    "raise max_connections or the limit of the role, or lower CHATTERD_STORE_CONNECTIONS or CHATTERD_SHARDS"
            )
        }
        return .fine("connections", "\(text): enough for \(state.connections / max(1, wanted)) processes")
    }

    /// Whether the database stores something.
    private static func writing(_ pool: PostgresPool, _ state: State, areComplete: Bool) async -> Doctor.Check {
        guard !state.isReadOnly else {
            return .wrong("writing", "the database takes no writes", advice: "connect to the primary")
        }
        guard areComplete else { return .fine("writing", "the database takes writes") }
        var random = SystemRandomNumberGenerator()
        do throws(PostgresError) {
            try await StoreProbe.store(in: pool, as: ReplyID(using: &random))
            return .fine("writing", "the database takes writes, and has room")
        } catch {
            return .wrong("writing", "\(error)", advice: "see the log of PostgreSQL: is its disk full?")
        }
    }

    /// Compares the applied migrations with those of this program, as `serve` does. Also returns whether the database has exactly these.
    private static func migrations(
        _ present: [(name: String, checksum: String)], _ state: State
    ) -> (Doctor.Check, areComplete: Bool) {
        let known = Migration.embedded
        let names = Set(present.map(\.name))
        let unknown = names.subtracting(known.map(\.name)).sorted()
        guard unknown.isEmpty else {
            return (
                .wrong(
                    "migrations", "the database is newer than this program: it has \(unknown.joined(separator: ", "))",
                    advice: "start a newer chatterd, or use another database"), false
            )
        }
        let checksums = Dictionary(present.map { ($0.name, $0.checksum) }) { first, _ in first }
        let changed = known.filter { migration in
            checksums[migration.name].map { $0 != Self.digest(of: migration.sql) } ?? false
        }
        guard changed.isEmpty else {
            return (
                .wrong(
                    "migrations", "\(changed.map(\.name).joined(separator: ", ")) was changed after it was applied",
                    advice: "use the program that has applied it, or a database of its own"), false
            )
        }
        let missing = known.map(\.name).filter { !names.contains($0) }
        guard missing.isEmpty else {
            return (
                .wrong(
                    "migrations", "\(missing.joined(separator: ", ")) not applied",
                    advice: state.mayCreate
                        ? "run `chatterd migrate`; `chatterd serve` does it too"
                        : "as the owner of the schema: GRANT CREATE ON SCHEMA … TO the role, then `chatterd migrate`"),
                false
            )
        }
        return (.fine("migrations", "all \(known.count) are applied"), true)
    }

    /// The SHA-256 of a text, in hexadecimal digits.
    private static func digest(of text: String) -> String {
        SHA256Digest(of: Array(text.utf8).span).bytes.map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}
