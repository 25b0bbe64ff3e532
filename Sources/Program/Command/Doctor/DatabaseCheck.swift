import ChatterdConfiguration
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdSockets
import Glibc

/// The doctor's check of the database: reachable, new enough, writable, migrated, with enough connections and the right owners.
struct DatabaseCheck: Sendable {
    /// The oldest version of PostgreSQL, as `server_version_num` has it.
    private static let oldestVersion = 140_000
    /// The difference of the clocks from which on times in logs and dates of certificates mislead.
    private static let longestDifference: Int64 = 5

    private let configuration: Configuration
    /// The clock of this machine, in microseconds since 1970.
    private let now: @Sendable () -> Int64

    init(_ configuration: Configuration, now: @escaping @Sendable () -> Int64 = Self.systemClock) {
        self.configuration = configuration
        self.now = now
    }

    @Sendable static func systemClock() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// All checks.
    func run() async -> [Doctor.Check] {
        await withPool { pool in
            await checks(.database, pool) { state, pool in
                var checks = [version(state)]
                checks += await one(.clock, pool, clock)
                checks += await one(.tables, pool, Self.tables)
                let differences = await migrations(state, pool)
                checks += await one(.connections, pool) { pool throws(PostgresError) in
                    try await connections(state, pool)
                }
                checks.append(differences.check)
                checks += await writing(state, pool, isComplete: differences.areNone)
                guard differences.areNone else { return checks }
                checks += await one(.modelList, pool, modelList)
                return checks + (await privileges(pool))
            }
        }
    }

    /// The findings with which a server runs.
    func findings() async -> [Doctor.Check] {
        await withPool { pool in
            await checks(.database, pool) { state, pool in
                var checks = await one(.clock, pool, clock)
                checks += await one(.connections, pool) { pool throws(PostgresError) in
                    try await connections(state, pool)
                }
                return checks + (await privileges(pool))
            }
        }
    }

    // MARK: - Frames

    /// Runs checks with a connection of their own.
    private func withPool(_ body: @escaping @Sendable (PostgresPool) async -> [Doctor.Check]) async -> [Doctor.Check] {
        do {
            let shard = try Shard(index: 0)
            var store = PostgresConfiguration(target: try ConnectionTarget(configuration.store.database))
            // The timeouts of serving: the doctor is no more patient than requests are.
            store.connectionTimeout = configuration.store.timeout
            store.timeLimit = configuration.store.timeout
            return await Task(executorPreference: shard) {
                let pool = PostgresPool(store, on: shard)
                let checks = await body(pool)
                await pool.shutDown()
                return checks
            }.value
        } catch {
            return [.wrong(.database, "\(error)", advice: "correct DATABASE_URL")]
        }
    }

    /// Runs checks of a database that answers.
    private func checks(
        _ id: Doctor.ID, _ pool: PostgresPool,
        _ body: (DatabaseState, PostgresPool) async -> [Doctor.Check]
    ) async -> [Doctor.Check] {
        do throws(PostgresError) {
            guard let state = try await pool.run(DatabaseState.query).first else { return [] }
            return await body(state, pool)
        } catch {
            return [.wrong(id, "\(error)", advice: error.advice)]
        }
    }

    /// Runs a check whose failure leaves the others to be done.
    private func one(
        _ id: Doctor.ID, _ pool: PostgresPool,
        _ body: (PostgresPool) async throws(PostgresError) -> [Doctor.Check]
    ) async -> [Doctor.Check] {
        do throws(PostgresError) {
            return try await body(pool)
        } catch {
            return [.wrong(id, "\(error)", advice: error.advice)]
        }
    }

    // MARK: - Checks

    private func version(_ state: DatabaseState) -> Doctor.Check {
        guard state.versionNumber >= Self.oldestVersion else {
            return .wrong(.database, "version \(state.version)", advice: "version 14 or newer is needed")
        }
        return .fine(.database, "version \(state.version) answers")
    }

    /// Whether this machine's clock agrees with the database's, which decides about keys, tokens and leases.
    private func clock(_ pool: PostgresPool) async throws(PostgresError) -> [Doctor.Check] {
        let before = now()
        guard let database = try await pool.run(DatabaseState.clock).first else { return [] }
        let after = now()
        // The database has read its clock in between.
        let microseconds = database < before ? before - database : min(0, after - database)
        let seconds = (microseconds + microseconds.signum() * 500_000) / 1_000_000
        guard abs(seconds) > Self.longestDifference else {
            return [.fine(.clock, "this machine's agrees with the database's")]
        }
        return [
            .doubtful(
                .clock, "this machine's is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") the database's",
                advice: """
                    set both with NTP: the database's clock ends keys and tokens, this one dates the log and checks certificates
                    """)
        ]
    }

    /// Whether the tables belong to the role.
    private static func tables(_ pool: PostgresPool) async throws(PostgresError) -> [Doctor.Check] {
        let foreign = Array(try await pool.run(DatabaseState.foreignTables))
        guard let first = foreign.first else { return [] }
        let more = foreign.count > 1 ? " and \(foreign.count - 1) more" : ""
        return [
            .wrong(
                .tables, "\(first.name)\(more) belong to the role \(first.owner), not to \(first.role)",
                advice: """
                    name the role \(first.owner) in DATABASE_URL, or as a superuser: GRANT \(first.owner) TO \(first.role)
                    """)
        ]
    }

    /// Whether all processes get the connections that they are configured for.
    private func connections(
        _ state: DatabaseState, _ pool: PostgresPool
    ) async throws(PostgresError) -> [Doctor.Check] {
        let each = configuration.store.connections * configuration.server.shards + ProcessKeeper.connections
        let running = state.hasProcesses ? try await pool.run(DatabaseState.processes).first ?? 0 : 0
        let processes = max(1, running)
        let wanted = each * processes
        let subject = processes == 1 ? "a process opens" : "\(processes) processes open"
        let text = "\(subject) up to \(wanted) of \(state.connections) connections"
        guard wanted <= state.connections else {
            return [
                .wrong(
                    .connections, text,
                    advice: """
                        raise max_connections or the limit of the role, or lower CHATTERD_STORE_CONNECTIONS or CHATTERD_SHARDS
                        """)
            ]
        }
        return [.fine(.connections, "\(text): enough for \(state.connections / each) processes")]
    }

    /// Compares the applied migrations with those of this program, as `serve` does.
    private func migrations(
        _ state: DatabaseState, _ pool: PostgresPool
    ) async -> (check: Doctor.Check, areNone: Bool) {
        let known = Migration.embedded
        var missing = known.map(\.name)
        var newer: [String] = []
        if state.hasMigrations {
            let differences: [MigrationDifference]
            do throws(PostgresError) {
                differences = Array(
                    try await pool.run(Migrator.differences(from: known, hasExpansions: state.hasExpansions)))
            } catch {
                return (.wrong(.migrations, "\(error)", advice: error.advice), false)
            }
            if let check = Self.refusal(differences) { return (check, false) }
            missing = differences.names(.missing)
            newer = differences.names(.expansion)
        }
        let outstanding =
            state.hasMigrations ? known.filter { $0.kind == .contract && missing.contains($0.name) }.map(\.name) : []
        missing.removeAll { outstanding.contains($0) }
        let applied = known.map(\.name).filter { !missing.contains($0) && !outstanding.contains($0) }
        if let first = missing.first, let last = applied.last, last > first {
            return (
                .wrong(
                    .migrations, "\(missing.joined(separator: ", ")) not applied, though later ones are",
                    advice: """
                        put the rows back into chatterd_migrations, or restore a backup: `serve` would apply them again
                        """), false
            )
        }
        guard missing.isEmpty else {
            let advice =
                state.mayCreate
                ? "run `chatterd migrate`; `chatterd serve` does it too"
                : "as the owner of the schema: GRANT CREATE ON SCHEMA \(state.schema) TO \(state.role), then `chatterd migrate`"
            return (
                .wrong(.migrations, "\(missing.joined(separator: ", ")) not applied", advice: advice), false
            )
        }
        guard outstanding.isEmpty else {
            return (
                .doubtful(
                    .migrations, "\(outstanding.joined(separator: ", ")) not applied, without which this program works",
                    advice:
                        "run `chatterd migrate --contract` when no older version runs, and none will be started again"),
                true
            )
        }
        let more = newer.isEmpty ? "" : "; the database is newer by expansions: \(newer.joined(separator: ", "))"
        return (.fine(.migrations, "all \(known.count) are applied\(more)"), true)
    }

    /// What `serve` refuses.
    private static func refusal(_ differences: [MigrationDifference]) -> Doctor.Check? {
        let (unknown, changed) = (differences.names(.unknown), differences.names(.changed))
        if !unknown.isEmpty {
            return .wrong(
                .migrations, "the database is newer than this program: it has \(unknown.joined(separator: ", "))",
                advice: "start a newer chatterd, or use another database")
        }
        guard !changed.isEmpty else { return nil }
        return .wrong(
            .migrations, "\(changed.joined(separator: ", ")) was changed after it was applied",
            advice: "use the program that has applied it, or a database of its own")
    }

    /// Whether the database stores something.
    private func writing(
        _ state: DatabaseState, _ pool: PostgresPool, isComplete: Bool
    ) async -> [Doctor.Check] {
        guard !state.isReadOnly else {
            return [.wrong(.writing, "the database takes no writes", advice: PostgresError.adviceForReadOnly)]
        }
        return await one(.writing, pool) { pool throws(PostgresError) in
            var random = SystemRandomNumberGenerator()
            if isComplete {
                try await StoreProbe.store(in: pool, as: ReplyID(using: &random))
            } else if state.mayCreate {
                try await StoreProbe.storeInNewTable(pool)
            } else {
                // There is no table to write to: the check of migrations says so.
                return []
            }
            return [.fine(.writing, "the database takes writes, and has room")]
        }
    }

    /// Whether the running processes have the model servers of this environment.
    private func modelList(_ pool: PostgresPool) async throws(PostgresError) -> [Doctor.Check] {
        guard try await pool.run(DatabaseState.processes).first ?? 0 > 0 else { return [] }
        let names = UpstreamListDifference.names(
            configuration.upstreams, in: try await pool.run(UpstreamStatements.list))
        guard !names.isEmpty else { return [] }
        return [
            .doubtful(
                .modelList,
                "processes run that were started with other model servers than this environment has: \(names.joined(separator: ", "))",
                advice: "give all processes the same CHATTERD_UPSTREAMS: the one that starts last decides for all")
        ]
    }

    /// The rights in the database: whether it isolates owners, and whether other roles may run or replace functions.
    private func privileges(_ pool: PostgresPool) async -> [Doctor.Check] {
        let isolation = await one(.isolation, pool, Self.isolation)
        return isolation + (await one(.functions, pool, Self.functions))
    }

    /// Whether row-level security isolates owners from each other, behind the checks of the server.
    private static func isolation(_ pool: PostgresPool) async throws(PostgresError) -> [Doctor.Check] {
        guard try await pool.run(MemberRole.isUsableQuery).first == true else {
            return [
                .wrong(
                    .isolation,
                    "the database role may not use the role chatterd_member: only the server itself keeps owners apart",
                    advice: "as a superuser: \(MemberRole.advice), then `chatterd migrate`")
            ]
        }
        return [.fine(.isolation, "row-level security keeps owners apart")]
    }

    /// Whether other roles of the database are kept from running code as the role of chatterd.
    private static func functions(_ pool: PostgresPool) async throws(PostgresError) -> [Doctor.Check] {
        let open = Array(try await pool.run(FunctionPrivileges.unprotected))
        var checks: [Doctor.Check] = []
        if open.isEmpty {
            checks.append(.fine(.functions, "other roles of the database may not execute those of chatterd"))
        } else {
            checks.append(
                .wrong(
                    .functions,
                    "any role that can connect may execute \(open.joined(separator: ", ")), or change what they do",
                    advice: "run `chatterd migrate` as the role that owns them"))
        }
        if let schema = try await pool.run(FunctionPrivileges.openSchema).first {
            checks.append(
                .wrong(
                    .schema, "any role that can connect may create functions in the schema \(schema)",
                    advice: "as its owner: REVOKE CREATE ON SCHEMA \(schema) FROM PUBLIC"))
        }
        return checks
    }
}
