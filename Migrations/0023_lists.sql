-- kind: stop
-- The lists of an owner are read in the order of changed_in, the ten minutes in which a conversation was changed last, so a page reads the
-- rows of some periods and not all of the owner. Within a period changed_in does not change, so prompts update their rows in place (HOT) as
-- before. Processes of an earlier version do not set it. See docs/decisions/0057-lists-by-periods.md.
ALTER TABLE chatterd_conversations
    ADD COLUMN changed_in timestamptz GENERATED ALWAYS AS (date_bin('10 min', updated_at, 'epoch')) STORED;
-- The expression has filled the column. It goes, because PostgreSQL would prepare it again in each statement that adds or changes a row.
ALTER TABLE chatterd_conversations
    ALTER COLUMN changed_in DROP EXPRESSION,
    ALTER COLUMN changed_in SET DEFAULT date_bin('10 min', now(), 'epoch'),
    ALTER COLUMN changed_in SET NOT NULL;

COMMENT ON COLUMN chatterd_conversations.changed_in IS 'beginning of the ten minutes in which updated_at is; lists are ordered by it first';

DROP INDEX chatterd_conversations_owner;
CREATE INDEX chatterd_conversations_owner ON chatterd_conversations (owner, (archived_at IS NULL), changed_in);
