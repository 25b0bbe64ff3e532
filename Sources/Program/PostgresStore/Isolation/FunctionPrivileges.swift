import ChatterdPostgres

/// Who may execute the functions of chatterd in the database. Most of them run as the role that owns the tables (`SECURITY DEFINER`).
public enum FunctionPrivileges {
    /// The functions that statements of requests call, and the check of `chatts.state`.
    private static let requests = """
        ARRAY[
            'chatterd_attach', 'chatterd_branch_row', 'chatterd_charge', 'chatterd_floor', 'chatterd_hold_attachments',
            'chatterd_is_state', 'chatterd_members', 'chatterd_prompt_size', 'chatterd_release', 'chatterd_remove_withdrawn',
            'chatterd_share_attachments', 'chatterd_sheet_pieces']
        """

    /// The statement that protects the functions of all migrations, as the migration 0019_functions says.
    static let protect = "PERFORM chatterd_protect_functions(\(requests))"

    /// The rights and settings of all functions, by their signatures: what `protect` changes.
    static let state = """
        (SELECT coalesce(jsonb_object_agg(p.oid::regprocedure::text, concat(p.proacl, ' ', p.proconfig)), '{}') FROM pg_proc p
        WHERE p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'chatterd_processes'::regclass)
            AND starts_with(p.proname, 'chatterd_'))
        """

    /// The functions that are not protected: PUBLIC may execute them, or they run as their owner and look for tables in `pg_temp` first.
    public static let unprotected = Query(
        Statement(
            "unprotected_functions",
            sql: """
                SELECT p.oid::regprocedure::text FROM pg_proc p
                WHERE p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('chatterd_processes'))
                    AND starts_with(p.proname, 'chatterd_') AND (
                        has_function_privilege('public', p.oid, 'EXECUTE') OR p.prosecdef AND NOT EXISTS (
                            SELECT FROM unnest(p.proconfig) AS o (option)
                            WHERE o.option LIKE 'search\\_path=%, pg\\_temp' AND o.option NOT LIKE '%$user%'))
                ORDER BY 1
                """
        ) { row in row.nextText() })

    /// The schema of the tables, if PUBLIC may create objects in it: a function or an operator there can take the place of one of
    /// PostgreSQL's in any statement whose arguments it fits better.
    public static let openSchema = Query(
        Statement(
            "open_schema",
            sql: """
                SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.oid = to_regclass('chatterd_processes') AND has_schema_privilege('public', n.oid, 'CREATE')
                """
        ) { row in row.nextText() })
}
