-- kind: stop
-- The model servers, what waits for them, and how replies came about.
ALTER TABLE chatts ADD COLUMN account text;

COMMENT ON COLUMN chatts.account IS
    'of a reply: which model server made which part of it, and what it was sent, as JSON text without its braces';

-- The model servers. What comes from a process's environment is written anew at its start; what came through the API stays.
-- The definition is JSON text, without secrets.
CREATE TABLE chatterd_upstreams (
    name text PRIMARY KEY,
    definition text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('environment', 'api')),
    place bigint NOT NULL,
    revision bigint NOT NULL
);
-- Each change takes the next number, one after the other under a lock: whoever knows the greatest, and how many rows there
-- are, knows whether something has changed.
CREATE SEQUENCE chatterd_revisions;

-- Replies that wait for a slot of a model server, or hold one. Those with the lowest rank come first: it is as if each
-- conversation in turn were given one slot. What changes a queue holds its advisory lock; see docs/architecture.md.
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
CREATE INDEX chatterd_queue_waiting ON chatterd_queue (upstream, rank, place) WHERE granted IS NULL;
CREATE INDEX chatterd_queue_granted ON chatterd_queue (upstream, holder) WHERE granted IS NOT NULL;
-- The rank of the last ticket that each conversation was given. It is of use while it is beyond the queue's own.
CREATE TABLE chatterd_queue_ranks (
    upstream text NOT NULL,
    appid text NOT NULL,
    rank bigint NOT NULL,
    PRIMARY KEY (upstream, appid)
);
-- How far each queue has got: the greatest rank that was given a slot, or one more after many slots; how many it has given
-- since that rose; and how long slots were held of late, in seconds.
CREATE TABLE chatterd_queues (
    upstream text PRIMARY KEY,
    rank bigint NOT NULL,
    given integer NOT NULL DEFAULT 0,
    hold double precision
);
