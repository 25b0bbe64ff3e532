-- kind: stop
-- The images of messages. An app has each of them once, by the SHA-256 of its text, however many messages have it. In the column extras such
-- a message has references in their place: a text that begins with U+0001, which no JSON has. See docs/decisions/0052-attachments.md.
CREATE TABLE chatterd_attachments (
    app text NOT NULL,
    digest bytea NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (app, digest)
);
-- Base64 of a compressed image cannot be compressed.
ALTER TABLE chatterd_attachments ALTER COLUMN content SET STORAGE EXTERNAL;

COMMENT ON COLUMN chatterd_attachments.content IS 'the text of the image in the message, between its quotes';

-- The attachments that the messages of a conversation refer to. A conversation can refer to those of its own app only.
CREATE TABLE chatterd_attachment_uses (
    appid text NOT NULL,
    digest bytea NOT NULL,
    app text NOT NULL GENERATED ALWAYS AS (split_part(appid, E'\x1F', 1)) STORED,
    PRIMARY KEY (appid, digest),
    FOREIGN KEY (app, digest) REFERENCES chatterd_attachments (app, digest)
);
CREATE INDEX chatterd_attachment_uses_attachment ON chatterd_attachment_uses (app, digest);

-- The size of all attachments of an app.
CREATE TABLE chatterd_attachment_totals (
    app text PRIMARY KEY,
    bytes bigint NOT NULL
) WITH (fillfactor = 70);

-- Requests have no privileges on these tables: the functions below read and change them.
ALTER TABLE chatterd_attachments ENABLE ROW LEVEL SECURITY;
ALTER TABLE chatterd_attachment_totals ENABLE ROW LEVEL SECURITY;
ALTER TABLE chatterd_attachment_uses ENABLE ROW LEVEL SECURITY;
CREATE POLICY chatterd_owner ON chatterd_attachment_uses USING (current_user <> 'chatterd_member');

-- Whether a conversation is in the scope of the transaction: the condition of the policies, for functions, inside of which they do not apply.
CREATE FUNCTION chatterd_is_permitted(p_appid text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(starts_with(p_appid || E'\x1F\x1F',
        CASE WHEN current_setting('role') <> 'chatterd_member' OR s.owner = '*' THEN '' ELSE nullif(s.owner, '') END), false)
    FROM current_setting('chatterd.owner', true) AS s (owner)
$$;

-- The members of a message of a conversation, with its attachments in the place of the references. It reads only attachments that the
-- conversation refers to.
CREATE FUNCTION chatterd_members(p_appid text, p_extras text) RETURNS text
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
    LEFT JOIN chatterd_attachment_uses u
        ON u.appid = p_appid AND u.digest = CASE WHEN p.number % 2 = 0 THEN decode(p.part, 'hex') END
    LEFT JOIN chatterd_attachments a ON a.app = u.app AND a.digest = u.digest
    WHERE p.number > 2;
    IF NOT is_whole THEN
        RAISE data_corrupted USING MESSAGE = 'an attachment of a message is missing';
    END IF;
    RETURN members;
END
$$;

-- Stores the attachments of messages that this transaction has added to a conversation; it has no effect if there are no such messages. p_digests are in
-- hexadecimal, without duplicates. p_replaces: the conversation has no other messages now. Raises CH413, with the limit as its message, if the
-- attachments of the app exceed p_limit bytes; 0 for no limit.
--
-- A transaction locks attachments in the order of their digests, and then the total of their app.
CREATE FUNCTION chatterd_attach(
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
        DELETE FROM chatterd_attachment_uses u WHERE u.appid = p_appid AND encode(u.digest, 'hex') <> ALL (p_digests);
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

-- Keeps the attachments of a conversation until the end of the transaction, which copies its messages.
CREATE FUNCTION chatterd_hold_attachments(p_appid text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM chatterd_attachments a
    WHERE (a.app, a.digest) IN (SELECT u.app, u.digest FROM chatterd_attachment_uses u WHERE u.appid = p_appid)
    ORDER BY a.app, a.digest FOR KEY SHARE;
END
$$;

-- Has a conversation that this transaction has made from another one refer to the attachments of its messages.
CREATE FUNCTION chatterd_share_attachments(p_source text, p_target text) RETURNS void
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
    IF NOT digests <@ ARRAY(
        SELECT u.digest FROM chatterd_attachment_uses u WHERE u.appid = p_source AND chatterd_is_permitted(p_source))
    THEN
        RAISE serialization_failure USING MESSAGE = 'the conversation was replaced while it was copied';
    END IF;
    INSERT INTO chatterd_attachment_uses (appid, digest)
    SELECT p_target, d.digest FROM unnest(digests) AS d (digest) ORDER BY d.digest
    ON CONFLICT (appid, digest) DO NOTHING;
END
$$;

-- Removes the references of removed conversations, in one statement, so that the attachments are locked in their order.
CREATE FUNCTION chatterd_remove_uses() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM chatterd_attachment_uses u WHERE u.appid IN (SELECT g.appid FROM gone g);
    RETURN NULL;
END
$$;
CREATE TRIGGER chatterd_conversations_removed AFTER DELETE ON chatterd_conversations
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chatterd_remove_uses();

-- Removes attachments with their last reference. The lock is a statement of its own: it waits for the transactions that add references, and the
-- removal then sees them.
CREATE FUNCTION chatterd_remove_unused() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM FROM chatterd_attachments a
    WHERE (a.app, a.digest) IN (SELECT g.app, g.digest FROM gone g)
    ORDER BY a.app, a.digest FOR UPDATE;
    WITH removed AS (
        DELETE FROM chatterd_attachments a
        WHERE (a.app, a.digest) IN (SELECT g.app, g.digest FROM gone g)
            AND NOT EXISTS (SELECT FROM chatterd_attachment_uses u WHERE u.app = a.app AND u.digest = a.digest)
        RETURNING a.app, octet_length(a.content) AS size
    ), sums AS MATERIALIZED (
        SELECT r.app, sum(r.size) AS bytes FROM removed r GROUP BY r.app ORDER BY r.app
    )
    UPDATE chatterd_attachment_totals t SET bytes = t.bytes - s.bytes FROM sums s WHERE t.app = s.app;
    RETURN NULL;
END
$$;
CREATE TRIGGER chatterd_attachment_uses_removed AFTER DELETE ON chatterd_attachment_uses
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chatterd_remove_unused();
