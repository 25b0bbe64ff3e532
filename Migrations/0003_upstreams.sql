-- The model servers, what waits for them, and how replies came about.
ALTER TABLE chatts ADD COLUMN account text;

COMMENT ON COLUMN chatts.account IS
    'of a reply: which model server made which part of it, and what it was sent, as JSON text without its braces';

-- The model servers. What comes from a process's environment is written anew at its start; what came through the API stays.
CREATE TABLE chatterd_upstreams (
    name text PRIMARY KEY,
    definition text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('environment', 'api')),
    revision bigint NOT NULL
);
-- Each change takes the next number: whoever knows the greatest, and how many there are, knows whether something has changed.
CREATE SEQUENCE chatterd_revisions;

-- Replies that wait for a slot of a model server, or hold one. Those with the lowest rank come first: it is as if each
-- conversation in turn were given one slot.
CREATE TABLE chatterd_queue (
    upstream text NOT NULL,
    reply uuid NOT NULL,
    appid text NOT NULL,
    holder uuid NOT NULL,
    rank bigint NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    granted timestamptz,
    PRIMARY KEY (upstream, reply)
);
-- The rank that a conversation's next reply has at least, while it is beyond the queue's own.
CREATE TABLE chatterd_queue_ranks (
    upstream text NOT NULL,
    appid text NOT NULL,
    rank bigint NOT NULL,
    PRIMARY KEY (upstream, appid)
);
