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

    /// Protects the functions, creates the role and sets its privileges, as far as they differ and the current role may do so.
    ///
    /// The role belongs to the whole cluster, so migrators of other databases may change it at the same time. It may read and change the
    /// tables of conversations, and no keys, upstreams or audit log. Each change is noted for the migrator; a subtransaction that fails takes
    /// its notes back too.
    static let setup = """
        DO $$
        DECLARE
            item record;
            names text;
            functions CONSTANT jsonb := \(FunctionPrivileges.state);
        BEGIN
            IF current_setting('transaction_read_only')::boolean THEN
                RETURN;
            END IF;
            \(FunctionPrivileges.protect);
            FOR attempt IN 1..50 LOOP
                BEGIN
                    IF to_regrole('\(name)') IS NULL THEN
                        CREATE ROLE \(name) NOLOGIN;
                        \(note("'created the role \(name)'"));
                    END IF;
                    IF NOT pg_has_role('\(name)', \(membership)) THEN
                        EXECUTE format('GRANT \(name) TO %I', current_user);
                        \(note("format('granted the role \(name) to %I', current_user)"));
                    END IF;
                    IF NOT has_schema_privilege('\(name)', current_schema(), 'USAGE') THEN
                        EXECUTE format('GRANT USAGE ON SCHEMA %I TO \(name)', current_schema());
                        \(note("format('granted \(name) the use of the schema %I', current_schema())"));
                    END IF;
                    \(FunctionPrivileges.protect);
                    names := NULL;
                    FOR item IN \(differences) LOOP
                        names := concat_ws(', ', names, item.name);
                        EXECUTE format('REVOKE ALL ON %s FROM \(name)', item.name);
                        IF item.privileges <> '' THEN
                            EXECUTE format('GRANT %s ON %s TO \(name)', item.privileges, item.name);
                        END IF;
                    END LOOP;
                    IF names IS NOT NULL THEN
                        \(note("'set the rights of \(name) on ' || names"));
                    END IF;
                    EXIT;
                EXCEPTION
                    WHEN duplicate_object OR unique_violation OR internal_error THEN
                        PERFORM pg_sleep(0.02);
                    WHEN insufficient_privilege THEN
                        EXIT;
                END;
            END LOOP;
            SELECT CASE WHEN count(*) > 5 THEN count(*) || ' functions'
                    WHEN count(*) > 0 THEN 'the functions ' || string_agg(f.key, ', ' ORDER BY f.key) END
                INTO names FROM jsonb_each_text(\(FunctionPrivileges.state)) AS f
            WHERE f.value IS DISTINCT FROM functions ->> f.key;
            IF names IS NOT NULL THEN
                \(note("'set the rights of ' || names"));
            END IF;
        END
        $$
        """

    /// Notes a change for the migrator.
    private static func note(_ text: String) -> String {
        """
        PERFORM set_config('\(Migrator.changesSetting)', concat_ws(E'\\n',
            nullif(current_setting('\(Migrator.changesSetting)', true), ''), \(text)), true)
        """
    }

    /// The tables of chatterd for which the role has other privileges than it needs.
    private static let differences = """
        SELECT c.oid::regclass AS name, coalesce(w.privileges, '') AS privileges
        FROM pg_class c LEFT JOIN (VALUES \(tables)) AS w (name, privileges) ON w.name = c.relname
        WHERE c.relkind IN ('r', 'p') AND (c.oid = 'chatts'::regclass OR starts_with(c.relname, 'chatterd_')
                AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'chatterd_processes'::regclass))
            AND coalesce(w.privileges, '') <> (
                SELECT coalesce(string_agg(DISTINCT a.privilege_type, ', ' ORDER BY a.privilege_type), '')
                FROM aclexplode(c.relacl) AS a WHERE a.grantee = to_regrole('\(name)'))
        ORDER BY c.relname
        """

    /// The privileges that statements of requests need, in the order of the alphabet. The policies limit them to the rows of one owner in
    /// all tables with a column `appid`. The others are those of charges, which a request only adds, of the leases of processes, which
    /// are renewed with a prompt, and of the generations of sheets.
    private static let tables = """
        ('chatts', 'DELETE, INSERT, SELECT, UPDATE'), ('chatterd_conversations', 'DELETE, INSERT, SELECT, UPDATE'),
        ('chatterd_journal', 'DELETE, INSERT, SELECT, UPDATE'), ('chatterd_keys', 'DELETE, INSERT, SELECT, UPDATE'),
        ('chatterd_signals', 'DELETE, INSERT, SELECT, UPDATE'), ('chatterd_changes', 'DELETE, INSERT, SELECT, UPDATE'),
        ('chatterd_queue', 'DELETE, SELECT, UPDATE'), ('chatterd_queue_ranks', 'DELETE, SELECT'),
        ('chatterd_charges', 'INSERT'), ('chatterd_deliveries', 'INSERT'), ('chatterd_processes', 'INSERT, SELECT, UPDATE'), ('chatterd_sheet_tables', 'SELECT')
        """
}
