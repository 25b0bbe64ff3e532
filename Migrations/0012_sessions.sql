-- kind: stop
-- The sessions of browsers: what a cookie stands for. The cookie is stored as its SHA-256 only. kind and subject name the credential that
-- was exchanged: admin, key (id), token (id of its key) or issuer (name). scopes are words with spaces; conversations and models are JSON
-- arrays, null for all.
CREATE TABLE chatterd_sessions (
    hash bytea PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('admin', 'key', 'token', 'issuer')),
    subject text NOT NULL,
    issued_at bigint,
    app text,
    person text,
    scopes text NOT NULL,
    conversations text,
    models text,
    requests_per_minute bigint,
    tokens_per_day bigint,
    concurrent_replies bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX chatterd_sessions_expiry ON chatterd_sessions (expires_at);
CREATE INDEX chatterd_sessions_subject ON chatterd_sessions (kind, subject, created_at);

-- A revocation can also end one session: kind is session, subject the base64url of its hash.
ALTER TABLE chatterd_revocations DROP CONSTRAINT chatterd_revocations_kind_check;
ALTER TABLE chatterd_revocations ADD CHECK (kind IN ('key', 'person', 'session'));
