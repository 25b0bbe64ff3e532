import ChatterdPostgres

/// The role of PostgreSQL that the statements of requests run as. It has no login, and the policies of the tables apply to it.
public enum MemberRole {
    static let name = "chatterd_member"

    /// The SQL that lets a login role use the member role.
    public static let advice = "CREATE ROLE \(name) NOLOGIN; GRANT \(name) TO the role of DATABASE_URL"

    /// Whether the current role may use the member role, and the member role has its privileges.
    static let isUsable = """
        coalesce(
            pg_has_role(to_regrole('\(name)'), \(membership)) AND has_table_privilege(to_regrole('\(name)'), 'chatts', 'DELETE'),
            false)
        """

    /// The privilege to change to a role. Version 16 of PostgreSQL has separated it from membership.
    private static let membership = """
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END
        """

    /// Whether row-level security isolates requests.
    public static let isUsableQuery = Query(
        Statement("member_role", sql: "SELECT \(isUsable)") { row in row.nextBool() })

    /// Creates the role and grants its privileges, as far as they are missing and the current role may do so.
    ///
    /// The role belongs to the whole cluster, so migrators of other databases may change it at the same time. It may read and change the
    /// tables of conversations, and no keys, upstreams or audit log.
    static let setup = """
        DO $$
        DECLARE
            item record;
        BEGIN
            FOR attempt IN 1..50 LOOP
                BEGIN
                    IF to_regrole('\(name)') IS NULL THEN
                        CREATE ROLE \(name) NOLOGIN;
                    END IF;
                    IF NOT pg_has_role('\(name)', \(membership)) THEN
                        EXECUTE format('GRANT \(name) TO %I', current_user);
                    END IF;
                    IF NOT has_schema_privilege('\(name)', current_schema(), 'USAGE') THEN
                        EXECUTE format('GRANT USAGE ON SCHEMA %I TO \(name)', current_schema());
                    END IF;
                    FOR item IN SELECT t.name FROM unnest(ARRAY[\(tables)]) AS t (name)
                        WHERE NOT has_table_privilege('\(name)', t.name, 'DELETE')
                    LOOP
                        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO \(name)', item.name);
                    END LOOP;
                    RETURN;
                EXCEPTION
                    WHEN duplicate_object OR unique_violation OR internal_error THEN
                        PERFORM pg_sleep(0.02);
                    WHEN insufficient_privilege OR read_only_sql_transaction THEN
                        RETURN;
                END;
            END LOOP;
        END
        $$
        """

    /// The tables that statements of requests use. Those without a column `appid` have no rows of owners.
    private static let tables = """
        'chatts', 'chatterd_conversations', 'chatterd_journal', 'chatterd_keys', 'chatterd_signals', 'chatterd_changes',
        'chatterd_charges', 'chatterd_processes', 'chatterd_sheet_tables',
        'chatterd_queue', 'chatterd_queue_ranks', 'chatterd_queues'
        """
}
