import ChatterdPostgres
import ChatterdPostgresStore

/// What the doctor asks the database about itself.
struct DatabaseState: Sendable {
    let version: String
    /// As `140005` for version 14.5.
    let versionNumber: Int
    let isReadOnly: Bool
    /// Whether the table of applied migrations exists.
    let hasMigrations: Bool
    /// Whether the table of applied expansions exists.
    let hasExpansions: Bool
    /// Whether the table of live processes exists, and may be read.
    let hasProcesses: Bool
    /// Whether the role may create tables.
    let mayCreate: Bool
    let role: String
    /// The schema of new tables.
    let schema: String
    /// The number of connections that the server leaves to the role in this database: other roles use the rest, or it is reserved.
    let connections: Int

    static let query = Query(
        Statement(
            "doctor",
            sql: """
                WITH others AS (
                    SELECT count(*) AS here_and_elsewhere, count(*) FILTER (WHERE datname = current_database()) AS here
                    FROM pg_stat_activity
                    WHERE datid IS NOT NULL AND usesysid <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
                )
                SELECT current_setting('server_version'), current_setting('server_version_num')::int8,
                    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',
                    to_regclass('chatterd_migrations') IS NOT NULL, to_regclass('chatterd_expansions') IS NOT NULL,
                    coalesce(has_table_privilege(to_regclass('chatterd_processes'), 'SELECT'), false),
                    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
                    current_user::text, coalesce(current_schema(), '…')::text,
                    least(
                        current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8
                            - coalesce(current_setting('reserved_connections', true)::int8, 0) - here_and_elsewhere,
                        (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
                        (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()) - here)
                FROM others
                """
        ) { row in
            DatabaseState(
                version: row.nextText(), versionNumber: row.nextInt(), isReadOnly: row.nextBool(),
                hasMigrations: row.nextBool(), hasExpansions: row.nextBool(), hasProcesses: row.nextBool(),
                mayCreate: row.nextBool(), role: row.nextText(), schema: row.nextText(), connections: row.nextInt())
        })

    /// The database's time of day, in microseconds since 1970.
    static let clock = Query(
        Statement("doctor_clock", sql: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8") { row in
            Int64(row.nextInt())
        })

    /// The number of live processes.
    static let processes = Query(
        Statement("doctor_processes", sql: "SELECT count(*) FROM chatterd_processes WHERE expires_at > now()") { row in
            row.nextInt()
        })

    /// The tables of chatterd whose owner the role is not.
    static let foreignTables = Query(
        Statement(
            "doctor_tables",
            sql: """
                SELECT c.oid::regclass::text, pg_get_userbyid(c.relowner)::text, current_user::text FROM pg_class c
                WHERE c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE') AND starts_with(c.relname, 'chatt')
                    AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('chatterd_migrations'))
                ORDER BY c.relname
                """
        ) { row in (name: row.nextText(), owner: row.nextText(), role: row.nextText()) })
}
