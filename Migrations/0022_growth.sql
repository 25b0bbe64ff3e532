-- kind: stop
-- The time of some functions and statements grew with the square of a size that clients choose. Statements are planned without a look at their
-- parameters, and a plan may be from the time when a table was empty.

-- Each piece of an import counted all rows of the conversation.
ALTER TABLE chatterd_conversations ADD COLUMN counted bigint[];

COMMENT ON COLUMN chatterd_conversations.counted IS 'after a piece of an import: epoch, base, the last row, and the number of rows up to it';

-- As before, but each reference is looked up by its key: the planner could read all references of the conversation for each of them.
CREATE OR REPLACE FUNCTION chatterd_members(p_appid text, p_extras text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    members text;
    is_whole boolean;
BEGIN
    IF NOT chatterd_is_permitted(p_appid) THEN
        RAISE insufficient_privilege USING MESSAGE = 'the conversation has another owner';
    END IF;
    -- Between the marks: an empty text, the size of the members, then text and digests in turn.
    SELECT string_agg(coalesce(a.content, p.part), '' ORDER BY p.number),
        bool_and(p.number % 2 = 1 OR a.digest IS NOT NULL)
    INTO members, is_whole
    FROM unnest(string_to_array(p_extras, E'\x01')) WITH ORDINALITY AS p (part, number)
    LEFT JOIN LATERAL (
        SELECT u.app, u.digest FROM chatterd_attachment_uses u
        WHERE u.appid = p_appid AND u.digest = CASE WHEN p.number % 2 = 0 THEN decode(p.part, 'hex') END LIMIT 1) AS u ON true
    LEFT JOIN LATERAL (
        SELECT t.digest, t.content FROM chatterd_attachments t WHERE t.app = u.app AND t.digest = u.digest LIMIT 1) AS a ON true
    WHERE p.number > 2;
    IF NOT is_whole THEN
        RAISE data_corrupted USING MESSAGE = 'an attachment of a message is missing';
    END IF;
    RETURN members;
END
$$;

-- As before, but the references that a replacement leaves are found by a hash table: the comparison with an array took the product of both.
CREATE OR REPLACE FUNCTION chatterd_attach(
    p_appid text, p_digests text[], p_contents text[], p_replaces boolean, p_limit bigint
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    owner CONSTANT text := split_part(p_appid, E'\x1F', 1);
    added bigint := 0;
    size bigint;
    present bigint;
    total bigint;
BEGIN
    -- Each change of messages changes the row of their conversation. Row-level security lets a request change only those of its owner.
    IF NOT EXISTS (
        SELECT FROM chatterd_conversations v WHERE v.appid = p_appid AND v.xmin = pg_current_xact_id()::xid)
    THEN
        RETURN;
    END IF;

    -- An attachment that another transaction removes now is missing after the wait for its lock, and added again.
    LOOP
        WITH new AS (
            INSERT INTO chatterd_attachments AS a (app, digest, content)
            SELECT owner, decode(p_digests[p.index], 'hex'), p_contents[p.index]
            FROM (
                SELECT i.index FROM generate_subscripts(p_digests, 1) AS i (index)
                ORDER BY p_digests[i.index] COLLATE "C") AS p
            ON CONFLICT (app, digest) DO NOTHING
            RETURNING octet_length(a.content) AS size
        )
        SELECT coalesce(sum(n.size), 0) INTO size FROM new n;
        added := added + size;

        WITH locked AS MATERIALIZED (
            SELECT FROM chatterd_attachments a
            WHERE a.app = owner AND a.digest IN (SELECT decode(d.digest, 'hex') FROM unnest(p_digests) AS d (digest))
            ORDER BY a.digest FOR KEY SHARE
        )
        SELECT count(*) INTO present FROM locked;
        EXIT WHEN present = cardinality(p_digests);
    END LOOP;
    INSERT INTO chatterd_attachment_uses (appid, digest)
    SELECT p_appid, decode(d.digest, 'hex') FROM unnest(p_digests) AS d (digest) ORDER BY 2
    ON CONFLICT (appid, digest) DO NOTHING;
    IF p_replaces THEN
        DELETE FROM chatterd_attachment_uses u
        WHERE u.appid = p_appid AND u.digest NOT IN (SELECT decode(d.digest, 'hex') FROM unnest(p_digests) AS d (digest));
    END IF;

    IF added > 0 THEN
        INSERT INTO chatterd_attachment_totals AS t (app, bytes) VALUES (owner, added)
        ON CONFLICT (app) DO UPDATE SET bytes = t.bytes + excluded.bytes
        RETURNING t.bytes INTO total;
        IF p_limit > 0 AND total > p_limit THEN
            RAISE EXCEPTION USING ERRCODE = 'CH413', MESSAGE = p_limit::text;
        END IF;
    END IF;
END
$$;

-- As before, but the references of both conversations are compared by EXCEPT: the comparison of two arrays took the product of both.
CREATE OR REPLACE FUNCTION chatterd_share_attachments(p_source text, p_target text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    digests bytea[];
BEGIN
    IF NOT EXISTS (
        SELECT FROM chatterd_conversations v WHERE v.appid = p_target AND v.xmin = pg_current_xact_id()::xid)
    THEN
        RETURN;
    END IF;
    digests := ARRAY(
        SELECT DISTINCT decode(p.part, 'hex') FROM chatts c
        CROSS JOIN LATERAL unnest(string_to_array(c.extras, E'\x01')) WITH ORDINALITY AS p (part, number)
        WHERE c.appid = p_target AND left(c.extras, 1) = E'\x01' AND p.number > 2 AND p.number % 2 = 0);
    -- The source may have been replaced since its rows were read. A request shares only what its owner's conversations refer to.
    IF EXISTS (
        SELECT d.digest FROM unnest(digests) AS d (digest)
        EXCEPT
        SELECT u.digest FROM chatterd_attachment_uses u WHERE u.appid = p_source AND chatterd_is_permitted(p_source))
    THEN
        RAISE serialization_failure USING MESSAGE = 'the conversation was replaced while it was copied';
    END IF;
    INSERT INTO chatterd_attachment_uses (appid, digest)
    SELECT p_target, d.digest FROM unnest(digests) AS d (digest) ORDER BY d.digest
    ON CONFLICT (appid, digest) DO NOTHING;
END
$$;

-- The newest row up to p_last on the branch that leads to the row p_seq: the way of the links above it, without a result that has all of them.
CREATE FUNCTION chatterd_branch_row(p_appid text, p_seq bigint, p_last bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    place bigint := p_seq;
    link record;
BEGIN
    FOR link IN
        SELECT c.seq, c.after FROM chatts c
        WHERE c.appid = p_appid AND c.after IS NOT NULL AND c.seq <= p_seq AND c.seq > p_last
        ORDER BY c.seq DESC
    LOOP
        IF link.seq <= place THEN
            place := link.after;
            EXIT WHEN place <= p_last;
        END IF;
    END LOOP;
    RETURN least(place, p_last);
END
$$;
