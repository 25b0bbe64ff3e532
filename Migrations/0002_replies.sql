-- kind: stop
-- A reply is a row from the start of its turn: it is found by its name, read while it is being made, and taken over from
-- a process that died. Branches of a conversation are links between its rows. See docs/architecture.md.
ALTER TABLE chatts
    ADD COLUMN after bigint,
    ADD COLUMN attempt integer,
    ADD COLUMN options text,
    ADD COLUMN on_interrupt text,
    ADD COLUMN last_event text,
    ADD COLUMN finished timestamptz;

ALTER TABLE chatts
    DROP CONSTRAINT chatts_state_check,
    ADD CONSTRAINT chatts_state_check CHECK (
        state IN ('prompt', 'streaming', 'complete', 'failed', 'cancelled', 'interrupted', 'choice'));

-- Turns whose process is gone, or is of a version that can no longer close them.
INSERT INTO chatts (appid, seq, turn, name, message, state)
SELECT DISTINCT p.appid, p.turn, p.turn, 'assistant', '', 'interrupted'
FROM chatts p
WHERE p.turn > p.seq AND NOT EXISTS (SELECT FROM chatts r WHERE r.appid = p.appid AND r.seq = p.turn);

UPDATE chatts SET state = 'prompt', holder = NULL WHERE turn > seq;

-- Replies by name.
CREATE INDEX chatts_reply ON chatts (id) WHERE turn = seq;
-- What a process that died may have left open. State is in no index: so the end of a reply is an update in place (HOT).
CREATE INDEX chatts_holder ON chatts (holder, time) WHERE holder IS NOT NULL;

COMMENT ON COLUMN chatts.turn IS 'seq of the reply of this row''s turn; null for a row outside of any turn';
COMMENT ON COLUMN chatts.state IS
    'prompt; of a reply: streaming, then how it ended; choice: the row has no text, it only says what comes before';
COMMENT ON COLUMN chatts.holder IS 'of a reply: the process that makes it, or made it to its end';
COMMENT ON COLUMN chatts.after IS 'seq of the row before this one, 0 for none; null: the row that stands before it';
COMMENT ON COLUMN chatts.attempt IS 'of a reply: how often it was begun';
COMMENT ON COLUMN chatts.options IS 'of a reply: further members of the request, as JSON text without its braces';
COMMENT ON COLUMN chatts.on_interrupt IS 'of a reply: regenerate, if another process is to make it when its own dies';
COMMENT ON COLUMN chatts.last_event IS 'of a reply: the data of the last event of its stream';

-- What replies in the making have grown by, a row a tick; emptied into the reply's own row when it ends.
-- The numbers are bytes: start, of all parts together; the others, where this row's part of each begins.
CREATE TABLE chatterd_journal (
    appid text NOT NULL,
    reply uuid NOT NULL,
    attempt integer NOT NULL,
    start bigint NOT NULL,
    text_at bigint NOT NULL,
    thinking_at bigint NOT NULL,
    calls_at bigint NOT NULL,
    text text NOT NULL,
    thinking text NOT NULL,
    calls text NOT NULL,
    PRIMARY KEY (appid, reply, attempt, start)
);

-- Requests that were accepted under a client's own name for them.
CREATE TABLE chatterd_keys (
    appid text NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    reply uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (appid, key)
);
CREATE INDEX chatterd_keys_expiry ON chatterd_keys (expires_at);

-- What processes tell the one that makes a reply.
CREATE TABLE chatterd_signals (
    holder uuid NOT NULL,
    reply uuid NOT NULL,
    kind text NOT NULL,
    appid text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (holder, reply, kind)
);
