-- kind: stop
-- The revocation of a session says when the session would have expired: afterwards nobody needs it. Those of versions before, which anybody
-- could add, end with the longest session that they can concern.
ALTER TABLE chatterd_revocations ADD COLUMN expires_at timestamptz;
UPDATE chatterd_revocations SET expires_at = at + interval '30 days' WHERE kind = 'session';
DELETE FROM chatterd_revocations WHERE expires_at < now();
