-- kind: stop
-- The end of a reply changes no indexed column, so it is an update in place (HOT) where the page has room. What the indexes on state and
-- closed found is now found by floor: a reply with a number up to it had ended when the row was added, and rows are only appended. See
-- docs/decisions/0041-hot-updates.md.
ALTER TABLE chatts ADD COLUMN floor bigint;

COMMENT ON COLUMN chatts.floor IS
    'no reply up to this number was running when the row was added; null: see the nearest row above that has one';

-- The last rows of long conversations get a floor now, so that nothing reads the rows of an earlier version to their beginning. For feeds
-- it would come too late: it says nothing about ends before this moment. So they read such a conversation again. The setting tells the
-- triggers that this is no change by hand.
SELECT set_config('chatterd.owner', '*', true);

WITH long AS (
    SELECT v.appid, l.seq FROM chatterd_conversations v CROSS JOIN LATERAL (
        SELECT c.seq FROM chatts c WHERE c.appid = v.appid ORDER BY c.seq DESC LIMIT 1) AS l
    WHERE l.seq > 1000
), marked AS (
    UPDATE chatts c SET floor = coalesce(
        (SELECT r.seq FROM chatts r WHERE r.appid = c.appid AND r.state = 'streaming' ORDER BY r.seq LIMIT 1), c.seq) - 1
    FROM long WHERE c.appid = long.appid AND c.seq = long.seq
)
UPDATE chatterd_conversations v SET base = v.revision FROM long WHERE v.appid = long.appid;

SELECT set_config('chatterd.owner', '', true);

DROP INDEX chatts_closed;
DROP INDEX chatts_running;

-- New pages keep room for the texts of their replies, which come later.
ALTER TABLE chatts SET (fillfactor = 70);
ALTER TABLE chatterd_charges SET (fillfactor = 70);

-- The floor of a row that is added behind the row p_last, if no reply up to p_floor is running; null for the floor of the nearest row.
CREATE FUNCTION chatterd_floor(p_appid text, p_floor bigint, p_last bigint, p_row bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    known bigint := p_floor;
    running bigint;
BEGIN
    IF known IS NULL THEN
        SELECT c.floor INTO known FROM chatts c
        WHERE c.appid = p_appid AND c.seq <= p_last AND c.floor IS NOT NULL ORDER BY c.seq DESC LIMIT 1;
    END IF;
    SELECT c.seq INTO running FROM chatts c
    WHERE c.appid = p_appid AND c.seq > coalesce(known, 0) AND c.seq <= p_last AND c.state = 'streaming'
    ORDER BY c.seq LIMIT 1;
    RETURN coalesce(running, p_row) - 1;
END
$$;

-- PostgreSQL reads the stored form of a check or of a condition of a trigger again in each statement that may need it. So they are short.
CREATE FUNCTION chatterd_is_state(p_state text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN p_state IN ('prompt', 'streaming', 'complete', 'failed', 'cancelled', 'interrupted', 'choice');
END
$$;

ALTER TABLE chatts
    DROP CONSTRAINT chatts_state_check,
    ADD CONSTRAINT chatts_state_check CHECK (chatterd_is_state(state)) NOT VALID;

CREATE OR REPLACE FUNCTION chatterd_note_edit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    -- A transaction of chatterd sets the owner.
    IF TG_OP <> 'TRUNCATE' AND coalesce(current_setting('chatterd.owner', true), '') <> '' THEN
        RETURN NULL;
    END IF;
    -- Once for each conversation and transaction, however many rows it changes.
    IF TG_OP = 'TRUNCATE' THEN
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1;
    ELSIF TG_OP = 'INSERT' THEN
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1, edited = pg_current_xact_id()
        WHERE appid = NEW.appid AND edited IS DISTINCT FROM pg_current_xact_id();
    ELSIF TG_OP = 'DELETE' THEN
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1, edited = pg_current_xact_id()
        WHERE appid = OLD.appid AND edited IS DISTINCT FROM pg_current_xact_id();
    ELSE
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1, edited = pg_current_xact_id()
        WHERE appid IN (OLD.appid, NEW.appid) AND edited IS DISTINCT FROM pg_current_xact_id();
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER chatts_edited_insert ON chatts;
CREATE TRIGGER chatts_edited_insert AFTER INSERT ON chatts FOR EACH ROW
    WHEN (NEW.opened IS NULL AND NEW.floor IS NULL)
    EXECUTE FUNCTION chatterd_note_edit();
DROP TRIGGER chatts_edited_update ON chatts;
CREATE TRIGGER chatts_edited_update AFTER UPDATE ON chatts FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM 'streaming')
    EXECUTE FUNCTION chatterd_note_edit();

-- The number after a name, with its quotes, in the last event of a reply. A regular expression costs as much as the rest of a settlement,
-- so it reads only what has another form than the programs write.
CREATE FUNCTION chatterd_count(p_event text, p_name text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    place integer := strpos(p_event, p_name);
    rest text;
    size integer;
BEGIN
    IF coalesce(place, 0) = 0 THEN
        RETURN NULL;
    END IF;
    rest := ltrim(substr(p_event, place + length(p_name), 32), ': ');
    size := length(rest) - length(ltrim(rest, '0123456789'));
    IF size BETWEEN 1 AND 9 THEN
        RETURN left(rest, size)::bigint;
    END IF;
    RETURN substring(p_event FROM p_name || '\s*:\s*([0-9]{1,9})(?:[^0-9]|$)')::bigint;
END
$$;

CREATE OR REPLACE FUNCTION chatterd_settle() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF OLD.state IS DISTINCT FROM 'streaming' OR TG_OP = 'UPDATE' AND NEW.state IS NOT DISTINCT FROM 'streaming' THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        UPDATE chatterd_charges SET settled_at = now() WHERE reply = OLD.id AND settled_at IS NULL;
    ELSIF NEW.state IN ('failed', 'cancelled') AND NEW.account IS NULL
        OR NEW.state = 'failed' AND NEW.message = '' AND NEW.thinking IS NULL AND NEW.extras IS NULL THEN
        UPDATE chatterd_charges SET settled_at = now(), prompt_tokens = 0, answer_tokens = 0
        WHERE reply = OLD.id AND settled_at IS NULL;
    ELSE
        UPDATE chatterd_charges SET
            settled_at = now(),
            prompt_tokens = coalesce(chatterd_count(NEW.last_event, '"prompt_eval_count"'), prompt_tokens),
            answer_tokens = coalesce(
                chatterd_count(NEW.last_event, '"eval_count"'),
                (octet_length(NEW.message) + coalesce(octet_length(NEW.thinking), 0)
                    + coalesce(octet_length(NEW.extras), 0) + 3) / 4)
        WHERE reply = OLD.id AND settled_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER chatts_settle ON chatts;
CREATE TRIGGER chatts_settle AFTER UPDATE OF state ON chatts FOR EACH ROW
    WHEN (OLD.reserved IS NOT NULL)
    EXECUTE FUNCTION chatterd_settle();

-- The scope of a policy without a function in FROM, whose plan node costs more than the rest of the policy.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'chatts', 'chatterd_conversations', 'chatterd_journal', 'chatterd_keys', 'chatterd_signals',
        'chatterd_changes']
    LOOP
        EXECUTE format($policy$
            ALTER POLICY chatterd_owner ON %I USING (
                starts_with(appid || E'\x1F\x1F', (
                    SELECT CASE
                        WHEN current_user <> 'chatterd_member' OR current_setting('chatterd.owner', true) = '*' THEN ''
                        ELSE nullif(current_setting('chatterd.owner', true), '') END))::integer <> 0)
            $policy$, name);
    END LOOP;
END
$$;
