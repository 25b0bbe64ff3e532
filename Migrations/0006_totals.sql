-- kind: stop
-- How much a conversation has come to, so that an append to one that is too large is refused without reading it.
ALTER TABLE chatts ADD COLUMN total bigint;

COMMENT ON COLUMN chatts.total IS
    'of a reply and of a choice: the bytes of the conversation before its own text, as far as they were known then';
