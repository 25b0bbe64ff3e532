-- kind: stop
-- A client that keeps its history sends all of it with each prompt. Its conversation is found by the digest of the history up to the last
-- answer: docs/decisions/0059-conversations-by-history.md. Replies of other requests have none, and end as before, in place (HOT).
ALTER TABLE chatts ADD COLUMN history uuid;
COMMENT ON COLUMN chatts.history IS 'of a reply: digest of the history of the client with it, if the client keeps its history';
CREATE INDEX chatts_history ON chatts (history, time) WHERE history IS NOT NULL;
-- A request that is repeated with its key is found by it, whatever has been stored since.
CREATE INDEX chatterd_keys_key ON chatterd_keys (key);
