-- kind: stop
-- The conversations by owner, for lists and for feeds. A process of an earlier version writes no such row; the next prompt adds it.
-- appid is the key of the conversation. owner is the text with which the keys of the owner's named conversations begin.
CREATE TABLE chatterd_conversations (
    appid text PRIMARY KEY,
    owner text NOT NULL,
    title text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    archived_at timestamptz,
    revision bigint NOT NULL DEFAULT 1
) WITH (fillfactor = 70);
-- No index has updated_at or revision, so that each prompt updates its row in place (HOT).
CREATE INDEX chatterd_conversations_owner ON chatterd_conversations (owner);

COMMENT ON COLUMN chatterd_conversations.revision IS
    'counts the changes of the conversation; its row lock puts them into one order for feeds';

-- The revisions at which a row was added and at which its reply ended: the order of the events of a feed.
ALTER TABLE chatts ADD COLUMN opened bigint, ADD COLUMN closed bigint;

COMMENT ON COLUMN chatts.opened IS 'of a prompt, reply or choice: revision of the conversation when the row was added';
COMMENT ON COLUMN chatts.closed IS 'of a reply: revision of the conversation when it ended';

INSERT INTO chatterd_conversations (appid, owner, created_at, updated_at)
SELECT appid,
    CASE WHEN appid ~ E'^[^\x1F]*\x1F[^\x1F]*\x1F'
        THEN substring(appid FROM E'^[^\x1F]*\x1F[^\x1F]*\x1F') ELSE appid || E'\x1F\x1F' END,
    min(time), max(time)
FROM chatts WHERE appid <> '' GROUP BY appid;

-- The links between rows, so that the branch of a page is found without reading the rows above it.
CREATE INDEX chatts_links ON chatts (appid, seq) INCLUDE (after) WHERE after IS NOT NULL;
