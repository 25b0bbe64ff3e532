-- kind: stop
-- What a client of Open Responses keeps with a conversation beside its title: docs/doors.md.
ALTER TABLE chatterd_conversations ADD COLUMN metadata text;
COMMENT ON COLUMN chatterd_conversations.metadata IS 'pairs of texts for the client, as JSON without braces; null without any';
