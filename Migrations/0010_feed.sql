-- kind: stop
-- The feeds of conversations. epoch distinguishes a conversation from a later one of the same name. A feed that has not reached the
-- revision base lacks changes that cannot be replayed: rows were replaced, imported or removed. It reads the conversation again.
ALTER TABLE chatterd_conversations
    ADD COLUMN epoch bigint NOT NULL DEFAULT 1 + floor(random() * 4503599627370495)::bigint,
    ADD COLUMN base bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN chatterd_conversations.epoch IS 'random; a conversation that is created again has another one';
COMMENT ON COLUMN chatterd_conversations.base IS 'revision of the last change that feeds cannot replay';

-- The ends of replies in the order of their revisions. Rows are found by their numbers, which have the order of opened.
CREATE INDEX chatts_closed ON chatts (appid, closed) WHERE closed IS NOT NULL;

-- The running replies of a conversation.
CREATE INDEX chatts_running ON chatts (appid, seq) WHERE state = 'streaming';

-- The newest changes of titles and of archived conversations, so that every feed has each of them.
CREATE TABLE chatterd_changes (
    appid text NOT NULL REFERENCES chatterd_conversations (appid) ON DELETE CASCADE,
    revision bigint NOT NULL,
    title text,
    archived boolean NOT NULL,
    PRIMARY KEY (appid, revision)
);
