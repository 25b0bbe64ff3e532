-- kind: stop
-- The conversations. A table `chatts` that the course's own servers left is taken over with its rows: `username` or
-- `name`, with or without `appid`, without keys, with bounded columns.
DO $$
DECLARE
    adopted boolean := to_regclass('chatts') IS NOT NULL;
    key_name text;
BEGIN
    IF NOT adopted THEN
        CREATE TABLE chatts (name text, message text, id uuid, time timestamptz, appid text);
    END IF;

    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'chatts'::regclass AND attname = 'name' AND NOT attisdropped)
    THEN
        ALTER TABLE chatts RENAME COLUMN username TO name;
    END IF;
    ALTER TABLE chatts
        ADD COLUMN IF NOT EXISTS id uuid,
        ADD COLUMN IF NOT EXISTS time timestamptz,
        ADD COLUMN IF NOT EXISTS appid text;

    FOR key_name IN SELECT conname FROM pg_constraint WHERE conrelid = 'chatts'::regclass AND contype IN ('p', 'u')
    LOOP
        EXECUTE format('ALTER TABLE chatts DROP CONSTRAINT %I', key_name);
    END LOOP;

    ALTER TABLE chatts
        ALTER COLUMN name TYPE text,
        ALTER COLUMN message TYPE text,
        ALTER COLUMN appid TYPE text,
        ALTER COLUMN time DROP DEFAULT;
    -- A timestamp without a zone was written by CURRENT_TIMESTAMP: it is in the session's zone.
    ALTER TABLE chatts ALTER COLUMN time TYPE timestamptz;

    -- seq orders the rows of a conversation. turn is the seq of the reply that closes the turn that a row belongs to; a
    -- row that came by itself (seeded, posted, adopted) has none. state, extras, thinking, model: see docs/architecture.md.
    ALTER TABLE chatts
        ADD COLUMN seq bigint,
        ADD COLUMN turn bigint,
        ADD COLUMN state text CHECK (state IN ('complete', 'failed', 'cancelled', 'interrupted')),
        ADD COLUMN model text,
        ADD COLUMN extras text,
        ADD COLUMN thinking text,
        ADD COLUMN holder uuid;

    IF adopted THEN
        UPDATE chatts SET
            name = coalesce(c.name, ''), message = coalesce(c.message, ''), id = coalesce(c.id, gen_random_uuid()),
            time = coalesce(c.time, now()), appid = coalesce(c.appid, ''), seq = o.seq
        FROM chatts c
        JOIN (
            SELECT ctid, row_number() OVER (PARTITION BY coalesce(appid, '') ORDER BY time NULLS FIRST, ctid) AS seq
            FROM chatts
        ) o ON o.ctid = c.ctid
        WHERE chatts.ctid = c.ctid;
    END IF;

    ALTER TABLE chatts
        ALTER COLUMN name SET NOT NULL,
        ALTER COLUMN message SET NOT NULL,
        ALTER COLUMN id SET NOT NULL,
        ALTER COLUMN id SET DEFAULT gen_random_uuid(),
        ALTER COLUMN time SET NOT NULL,
        ALTER COLUMN time SET DEFAULT now(),
        ALTER COLUMN appid SET NOT NULL,
        ALTER COLUMN seq SET NOT NULL,
        ADD PRIMARY KEY (appid, seq);
END
$$;

COMMENT ON COLUMN chatts.appid IS 'the conversation; empty for the chat board';
COMMENT ON COLUMN chatts.turn IS 'seq of the reply that closes the turn of this row; null for a row outside of any turn';
COMMENT ON COLUMN chatts.state IS 'of a reply: only the turns of complete replies are replayed to the model';
COMMENT ON COLUMN chatts.extras IS 'further members of the message, as JSON text without its braces: images, tool_calls ...';
COMMENT ON COLUMN chatts.holder IS 'of a prompt: the process that runs its turn';

-- The processes that run turns. One whose lease has expired is dead: its open turns are closed as interrupted.
CREATE TABLE chatterd_processes (
    id uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL
);
