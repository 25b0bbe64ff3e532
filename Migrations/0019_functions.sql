-- kind: stop
-- The functions of chatterd are for its own role, and some of them for requests. PostgreSQL lets PUBLIC execute each new function, and looks
-- for tables in pg_temp first unless the path names it: so any role of the database could have run its own code as the owner of the functions.

-- Protects the functions of chatterd, as far as the current role may: PUBLIC may not execute them, the member role executes only those whose
-- names are in p_requests, and a function with a path of its own finds nothing but pg_catalog and the schemas of the tables before pg_temp.
-- It changes only what is missing. CREATE OR REPLACE FUNCTION undoes the path, so the migrator calls this after all migrations too.
CREATE FUNCTION chatterd_protect_functions(p_requests text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    home CONSTANT oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'chatterd_processes'::regclass);
    -- A table chatts that was taken over may be in another schema.
    path CONSTANT text := concat_ws(', ',
        quote_ident((SELECT n.nspname FROM pg_namespace n WHERE n.oid = home)),
        (SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = 'chatts'::regclass AND n.oid <> home),
        'pg_temp');
    item record;
    has_member CONSTANT boolean := coalesce(pg_has_role(to_regrole('chatterd_member'), 'MEMBER'), false);
BEGIN
    FOR item IN
        SELECT p.oid, p.oid::regprocedure AS signature, p.proname = ANY (p_requests) AS is_for_requests,
            (p.prosecdef OR 'search_path' IN (SELECT split_part(o.option, '=', 1) FROM unnest(p.proconfig) AS o (option)))
                AND (p.proconfig @> ARRAY['search_path=' || path]) IS NOT TRUE AS needs_path
        FROM pg_proc p
        WHERE p.pronamespace = home AND starts_with(p.proname, 'chatterd_') AND p.prokind = 'f'
            AND pg_has_role(p.proowner, 'USAGE')
    LOOP
        IF item.needs_path THEN
            EXECUTE format('ALTER FUNCTION %s SET search_path = %s', item.signature, path);
        END IF;
        IF has_function_privilege('public', item.oid, 'EXECUTE') THEN
            EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', item.signature);
        END IF;
        IF has_member AND has_function_privilege('chatterd_member', item.oid, 'EXECUTE') <> item.is_for_requests THEN
            EXECUTE format(
                CASE WHEN item.is_for_requests THEN 'GRANT EXECUTE ON FUNCTION %s TO chatterd_member'
                    ELSE 'REVOKE ALL ON FUNCTION %s FROM chatterd_member' END, item.signature);
        END IF;
    END LOOP;
END
$$;

-- Removes the charge of a reply that is gone. Requests may add charges, and change none.
CREATE FUNCTION chatterd_remove_withdrawn(p_reply uuid) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
    DELETE FROM chatterd_charges g
    WHERE g.reply = p_reply AND NOT EXISTS (SELECT FROM chatts c WHERE c.id = p_reply AND c.turn = c.seq)
$$;

-- As before, but with a condition that PostgreSQL uses with the index under row-level security: it takes coalesce for one that leaks rows.
CREATE OR REPLACE FUNCTION chatterd_floor(p_appid text, p_floor bigint, p_last bigint, p_row bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    known bigint := p_floor;
    running bigint;
BEGIN
    IF known IS NULL THEN
        SELECT c.floor INTO known FROM chatts c
        WHERE c.appid = p_appid AND c.seq <= p_last AND c.floor IS NOT NULL ORDER BY c.seq DESC LIMIT 1;
    END IF;
    known := coalesce(known, 0);
    SELECT c.seq INTO running FROM chatts c
    WHERE c.appid = p_appid AND c.seq > known AND c.seq <= p_last AND c.state = 'streaming'
    ORDER BY c.seq LIMIT 1;
    RETURN coalesce(running, p_row) - 1;
END
$$;

SELECT chatterd_protect_functions(ARRAY[
    'chatterd_attach', 'chatterd_charge', 'chatterd_floor', 'chatterd_hold_attachments', 'chatterd_is_state', 'chatterd_members',
    'chatterd_remove_withdrawn', 'chatterd_share_attachments', 'chatterd_sheet_pieces']);

-- The check of chatts.state runs as the role that writes the row. Other roles that may write rows, by hand or as another program, still can.
DO $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT DISTINCT r.rolname FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'chatts'::regclass AND a.privilege_type IN ('INSERT', 'UPDATE') AND r.rolname <> 'chatterd_member'
            AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION chatterd_is_state(text) TO %I', item.rolname);
    END LOOP;
END
$$;

-- The queues have the owners of tickets in the column appid: a request reads and removes those of its own owner.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['chatterd_queue', 'chatterd_queue_ranks'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format($policy$
            CREATE POLICY chatterd_owner ON %I USING (
                starts_with(appid || E'\x1F\x1F', (
                    SELECT CASE
                        WHEN current_user <> 'chatterd_member' OR current_setting('chatterd.owner', true) = '*' THEN ''
                        ELSE nullif(current_setting('chatterd.owner', true), '') END))::integer <> 0)
            $policy$, name);
    END LOOP;
END
$$;

-- A change of the end of a key, of which processes keep a verified copy: kind is expiry, subject the id of the key.
ALTER TABLE chatterd_revocations DROP CONSTRAINT chatterd_revocations_kind_check;
ALTER TABLE chatterd_revocations ADD CONSTRAINT chatterd_revocations_kind_check
    CHECK (kind IN ('key', 'person', 'session', 'expiry'));
