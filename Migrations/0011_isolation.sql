-- kind: stop
-- Rows of conversations belong to owners. A transaction that serves a request runs as the role chatterd_member and sets chatterd.owner to
-- the beginning of the keys of its owner's conversations; '*' stands for all. Without the setting it sees no row. The policies do not
-- apply to other roles, so processes of an earlier version are not affected.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'chatts', 'chatterd_conversations', 'chatterd_journal', 'chatterd_keys', 'chatterd_signals',
        'chatterd_changes']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        -- The sub-select is evaluated once for each statement. The key of the default conversation of an app has no separators.
        EXECUTE format($policy$
            CREATE POLICY chatterd_owner ON %I USING (
                starts_with(appid || E'\x1F\x1F', (
                    SELECT CASE WHEN current_user <> 'chatterd_member' OR s.owner = '*' THEN '' ELSE nullif(s.owner, '') END
                    FROM current_setting('chatterd.owner', true) AS s (owner))))
            $policy$, name);
    END LOOP;
END
$$;
