-- kind: stop
-- Rescues begin a reply anew as well: what bounds how often it is taken over from processes that died is counted apart.
ALTER TABLE chatts ADD COLUMN adoptions integer;

COMMENT ON COLUMN chatts.adoptions IS 'of a reply: how often a process took it over from one that had died';
