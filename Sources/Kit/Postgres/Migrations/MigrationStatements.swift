/// The SQL of the table of applied migrations, and of the lock of migrators.
enum MigrationStatements {
    /// Limits the wait for locks until the end of the transaction, and lets a statement run as long as it needs.
    static func setLockTimeout(milliseconds: UInt64) -> Query<Void> {
        Query(setLockTimeoutStatement, .text(String(milliseconds)))
    }

    private static let setLockTimeoutStatement = Statement(
        "lock_timeout", .text,
        sql: """
            SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true),
                set_config('idle_in_transaction_session_timeout', '0', true)
            """)

    /// Acquires the advisory lock of migrators until the end of the transaction.
    static func lock(_ key: Int64) -> Query<Void> { Query(lockStatement, .int8(key)) }

    private static let lockStatement = Statement("lock", .int8, sql: "SELECT pg_advisory_xact_lock($1)")

    /// A description of the session that holds the lock.
    static func holder(ofLock key: Int64) -> Query<String> { Query(holderStatement, .int8(key)) }

    private static let holderStatement = Statement(
        "lock_holder", .int8,
        sql: """
            SELECT format('backend %s (%s)', a.pid, concat_ws(', ', nullif(a.application_name, ''), a.client_addr, a.state))
            FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND (l.classid::int8 << 32) | l.objid::int8 = $1
            """
    ) { row in row.nextText() }

    /// What a session waits for, and the sessions that hold it up: their numbers, and a description. No row if it waits for no lock.
    static func blockers(ofSession pid: Int) -> Query<(pids: String, text: String)> {
        Query(blockersStatement, .int8(pid))
    }

    // Without the privilege to read the statistics of others, address, state and times are NULL.
    private static let blockersStatement = Statement(
        "lock_blockers", .int8,
        sql: """
            SELECT string_agg(b.pid::text, ' ' ORDER BY b.pid), format('%s is held up by %s',
                coalesce('the ' || min(w.mode) || ' on ' || min(w.relation::regclass::text), 'the wait for the end of a transaction'),
                string_agg(format('backend %s (%s)', b.pid, concat_ws(', ', a.usename, nullif(a.application_name, ''), a.client_addr,
                    a.state, 'in its transaction for ' || extract(epoch FROM clock_timestamp() - a.xact_start)::bigint || ' s')),
                    '; ' ORDER BY a.xact_start, b.pid))
            FROM pg_locks w CROSS JOIN LATERAL (SELECT DISTINCT p.pid FROM unnest(pg_blocking_pids(w.pid)) AS p (pid)) AS b
            LEFT JOIN pg_stat_activity a ON a.pid = b.pid
            WHERE w.pid = $1 AND NOT w.granted
            GROUP BY w.pid
            """
    ) { row in (pids: row.nextText(), text: row.nextText()) }

    /// The changes that the setup has noted in this transaction, one a line.
    static let changes = Statement(
        "setup_changes", sql: "SELECT coalesce(current_setting('\(Migrator.changesSetting)', true), '')"
    ) { row in row.nextText() }

    /// Which of the tables of applied migrations and of live processes exist.
    ///
    /// It reads a table, because then the session notices what others have created while it waited for the lock of migrators.
    static let tables = Statement(
        "migration_tables",
        sql: """
            SELECT to_regclass('chatterd_migrations') IS NOT NULL, to_regclass('chatterd_expansions') IS NOT NULL,
                to_regclass('chatterd_processes') IS NOT NULL
            FROM pg_class WHERE oid = 'pg_class'::regclass
            """
    ) { row in Tables(hasMigrations: row.nextBool(), hasExpansions: row.nextBool(), hasProcesses: row.nextBool()) }

    struct Tables {
        let hasMigrations: Bool
        let hasExpansions: Bool
        let hasProcesses: Bool
    }

    static let createMigrations = createTable("chatterd_migrations")
    static let createExpansions = createTable("chatterd_expansions")

    private static func createTable(_ name: String) -> String {
        """
        CREATE TABLE \(name) (
            name text PRIMARY KEY,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """
    }

    /// The migrations that a database and a program have differently, in the order of their names.
    ///
    /// A program needs to know those in `chatterd_migrations`, and not those in `chatterd_expansions`.
    static func differences(from migrations: [Migration], hasExpansions: Bool) -> Query<MigrationDifference> {
        Query(
            hasExpansions ? differencesStatement : differencesOfOneTableStatement, .textArray(migrations.map(\.name)),
            .textArray(migrations.map(\.sql)))
    }

    private static let differencesStatement = Statement(
        "migration_differences", .textArray, .textArray,
        sql: differences(
            """
            SELECT name, checksum, 'unknown' AS kind FROM chatterd_migrations
            UNION ALL SELECT name, checksum, 'expansion' FROM chatterd_expansions
            """), decode: difference)
    private static let differencesOfOneTableStatement = Statement(
        "migration_differences_of_one_table", .textArray, .textArray,
        sql: differences("SELECT name, checksum, 'unknown' AS kind FROM chatterd_migrations"), decode: difference)

    private static func differences(_ applied: String) -> String {
        """
        SELECT coalesce(applied.name, own.name),
            CASE WHEN own.name IS NULL THEN applied.kind WHEN applied.name IS NULL THEN 'missing' ELSE 'changed' END
        FROM (\(applied)) AS applied FULL JOIN unnest($1, $2) AS own (name, sql) ON own.name = applied.name
        WHERE applied.checksum IS DISTINCT FROM \(checksum(of: "own.sql"))
        ORDER BY coalesce(applied.name, own.name) COLLATE "C"
        """
    }

    @Sendable private static func difference(_ row: inout Row) -> MigrationDifference {
        MigrationDifference(
            name: row.nextText(), kind: MigrationDifference.Kind(rawValue: row.nextText()) ?? .unknown)
    }

    /// A description of the live processes whose program does not know a migration; an empty text if there is none.
    static func olderProcesses(than migration: String) -> Query<String> {
        Query(olderProcessesStatement, .text(migration))
    }

    // The column `schema` is that of a migration itself.
    private static let olderProcessesStatement = Statement(
        "older_processes", .text,
        sql: """
            SELECT coalesce(string_agg(format('%s (%s)', o.id, coalesce('knows ' || o.schema, 'of an early version')), ', ' ORDER BY o.id), '')
            FROM (SELECT l.id, to_jsonb(l) ->> 'schema' AS schema FROM chatterd_processes l WHERE l.expires_at > now()) AS o
            WHERE coalesce(o.schema COLLATE "C" < $1, true)
            """
    ) { row in row.nextText() }

    /// Whether an index exists, and is what a build that broke off has left.
    static func isInvalid(index: String) -> Query<Bool> { Query(isInvalidStatement, .text(index)) }

    private static let isInvalidStatement = Statement(
        "invalid_index", .text, sql: "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
    ) { row in row.nextBool() }

    /// Tables, and those of indexes, with their sizes for people.
    static func sizes(of names: [String]) -> Query<(name: String, table: String, size: String, rows: Int)> {
        Query(sizesStatement, .textArray(names))
    }

    private static let sizesStatement = Statement(
        "table_sizes", .textArray,
        sql: """
            SELECT n.name, t.oid::regclass::text, pg_size_pretty(pg_total_relation_size(t.oid)), greatest(t.reltuples, 0)::int8
            FROM unnest($1) AS n (name) JOIN pg_class c ON c.oid = to_regclass(n.name)
            LEFT JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = coalesce(i.indrelid, c.oid)
            WHERE t.relkind IN ('r', 'p')
            """
    ) { row in (name: row.nextText(), table: row.nextText(), size: row.nextText(), rows: row.nextInt()) }

    /// The SHA-256 of the SQL of a migration, in hexadecimal digits.
    private static func checksum(of sql: String) -> String { "encode(sha256(convert_to(\(sql), 'UTF8')), 'hex')" }

    /// Records an applied migration.
    static func record(_ migration: Migration) -> Query<Void> {
        Query(
            migration.kind == .expand ? recordExpansionStatement : recordStatement, .text(migration.name),
            .text(migration.sql))
    }

    private static let recordStatement = Statement(
        "record_migration", .text, .text,
        sql: "INSERT INTO chatterd_migrations (name, checksum) VALUES ($1, \(checksum(of: "$2")))")
    private static let recordExpansionStatement = Statement(
        "record_expansion", .text, .text,
        sql: "INSERT INTO chatterd_expansions (name, checksum) VALUES ($1, \(checksum(of: "$2")))")
}
