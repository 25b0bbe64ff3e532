/// The SQL of the table of applied migrations, and of the lock of migrators.
enum MigrationStatements {
    /// Limits the wait for locks until the end of the transaction, and lets a statement run as long as it needs.
    static func setLockTimeout(milliseconds: UInt64) -> Query<Void> {
        Query(setLockTimeoutStatement, .text(String(milliseconds)))
    }

    private static let setLockTimeoutStatement = Statement(
        "lock_timeout", .text,
        sql: "SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', '0', true)")

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

    /// A description of the session whose transaction has used tables of this database for longest, and for at least a time.
    static func holderOfTables(milliseconds: UInt64) -> Query<String> {
        Query(holderOfTablesStatement, .int8(Int(milliseconds)))
    }

    // Without the privilege to read the statistics of others, state and times are NULL.
    private static let holderOfTablesStatement = Statement(
        "table_holder", .int8,
        sql: """
            SELECT format('backend %s (%s)', a.pid, concat_ws(', ', nullif(a.application_name, ''), a.client_addr, a.state,
                'in its transaction for ' || extract(epoch FROM clock_timestamp() - a.xact_start)::bigint || ' s'))
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND coalesce(a.xact_start <= clock_timestamp() - $1 * interval '1 ms', true)
                AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.relation >= 16384)
            ORDER BY a.xact_start, a.pid LIMIT 1
            """
    ) { row in row.nextText() }

    /// The changes that the setup has noted in this transaction, one a line.
    static let changes = Statement(
        "setup_changes", sql: "SELECT coalesce(current_setting('\(Migrator.changesSetting)', true), '')"
    ) { row in row.nextText() }

    /// Whether the table of applied migrations exists.
    static let tableExists = Statement(
        "migrations_table", sql: "SELECT to_regclass('chatterd_migrations') IS NOT NULL"
    ) { row in row.nextBool() }

    static let createTable = """
        CREATE TABLE chatterd_migrations (
            name text PRIMARY KEY,
            checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """

    /// The migrations that a database and a program have differently, in the order of their names.
    static func differences(from migrations: [Migration]) -> Query<MigrationDifference> {
        Query(differencesStatement, .textArray(migrations.map(\.name)), .textArray(migrations.map(\.sql)))
    }

    private static let differencesStatement = Statement(
        "migration_differences", .textArray, .textArray,
        sql: """
            SELECT coalesce(applied.name, own.name),
                CASE WHEN own.name IS NULL THEN 'unknown' WHEN applied.name IS NULL THEN 'missing' ELSE 'changed' END
            FROM chatterd_migrations AS applied FULL JOIN unnest($1, $2) AS own (name, sql) ON own.name = applied.name
            WHERE applied.checksum IS DISTINCT FROM \(checksum(of: "own.sql"))
            ORDER BY coalesce(applied.name, own.name) COLLATE "C"
            """
    ) { row in
        MigrationDifference(
            name: row.nextText(), kind: MigrationDifference.Kind(rawValue: row.nextText()) ?? .unknown)
    }

    /// The SHA-256 of the SQL of a migration, in hexadecimal digits.
    private static func checksum(of sql: String) -> String { "encode(sha256(convert_to(\(sql), 'UTF8')), 'hex')" }

    /// Records an applied migration.
    static func record(_ migration: Migration) -> Query<Void> {
        Query(recordStatement, .text(migration.name), .text(migration.sql))
    }

    private static let recordStatement = Statement(
        "record_migration", .text, .text,
        sql: "INSERT INTO chatterd_migrations (name, checksum) VALUES ($1, \(checksum(of: "$2")))")
}
