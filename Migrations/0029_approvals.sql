-- kind: expand
-- The answers to the calls of tools that wait for an approval: docs/tools.md.
ALTER TABLE chatts ADD COLUMN approvals text;
COMMENT ON COLUMN chatts.approvals IS 'answers to calls of tools that need an approval, such as 0.0=yes,0.1=no; null without any';
