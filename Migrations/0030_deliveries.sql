-- kind: expand
-- The ends of replies of which hooks of the operator are to be told: docs/hooks.md. The transaction that ends a reply adds the rows.
CREATE TABLE chatterd_deliveries (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    hook text NOT NULL,
    appid text NOT NULL,
    seq bigint NOT NULL,
    reply uuid NOT NULL,
    state text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    due timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0
);
CREATE INDEX chatterd_deliveries_due ON chatterd_deliveries (hook, due);
COMMENT ON TABLE chatterd_deliveries IS 'ends of replies of which hooks are to be told';
ALTER TABLE chatterd_deliveries ENABLE ROW LEVEL SECURITY;
CREATE POLICY chatterd_owner ON chatterd_deliveries USING (
    starts_with(appid || E'\x1F\x1F', (
        SELECT CASE
            WHEN current_user <> 'chatterd_member' OR current_setting('chatterd.owner', true) = '*' THEN ''
            ELSE nullif(current_setting('chatterd.owner', true), '') END))::integer <> 0);
