-- kind: stop
-- The keys of apps. The secret is stored as its SHA-256 only. scopes are words with spaces; models is a JSON array, null for all.
CREATE TABLE chatterd_app_keys (
    id text PRIMARY KEY,
    app text NOT NULL,
    label text NOT NULL,
    hash bytea NOT NULL,
    scopes text NOT NULL,
    models text,
    requests_per_minute bigint,
    tokens_per_day bigint,
    concurrent_replies bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX chatterd_app_keys_app ON chatterd_app_keys (app);

-- The changes that running processes must know at once: kind is key (subject: the id) or person (subject: the beginning of the keys of
-- the person's conversations). Each change takes the next number under a lock, so a reader of the greatest number knows all smaller ones.
CREATE TABLE chatterd_revocations (
    revision bigint PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('key', 'person')),
    subject text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);

-- What administrators and owners have changed. No secrets, no text of messages.
CREATE TABLE chatterd_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL,
    action text NOT NULL,
    app text,
    subject text NOT NULL
);
CREATE INDEX chatterd_audit_app ON chatterd_audit (app, id);

-- The keys that sign client tokens and links, the newest first in use: seeds of Ed25519. A process that reads this table can make tokens, as
-- it can read all conversations.
CREATE TABLE chatterd_signing_keys (
    id text PRIMARY KEY,
    seed bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
