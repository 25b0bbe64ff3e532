-- kind: expand
-- The tools of the device that asks at /llmtools: docs/api.md.
ALTER TABLE chatterd_conversations ADD COLUMN tools text;
COMMENT ON COLUMN chatterd_conversations.tools IS 'tools of the last request that had any, as a JSON array; null without any';
