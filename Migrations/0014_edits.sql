-- kind: stop
-- Processes keep histories in memory, and compare the version of a conversation, (epoch, base), with that of its kept history. chatterd's
-- own statements raise base when they remove or replace rows. These triggers raise it for changes of rows by hand and by other programs,
-- so that they are noticed too. A transaction of chatterd sets chatterd.owner and pays only for the comparison.
ALTER TABLE chatterd_conversations ADD COLUMN edited xid8;

COMMENT ON COLUMN chatterd_conversations.edited IS 'the last transaction that changed rows of the conversation without chatterd';

CREATE FUNCTION chatterd_note_edit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    -- Once for each conversation and transaction, however many rows it changes.
    IF TG_OP = 'TRUNCATE' THEN
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1;
    ELSIF TG_OP = 'INSERT' THEN
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1, edited = pg_current_xact_id()
        WHERE appid = NEW.appid AND edited IS DISTINCT FROM pg_current_xact_id();
    ELSIF TG_OP = 'DELETE' THEN
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1, edited = pg_current_xact_id()
        WHERE appid = OLD.appid AND edited IS DISTINCT FROM pg_current_xact_id();
    ELSE
        UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1, edited = pg_current_xact_id()
        WHERE appid IN (OLD.appid, NEW.appid) AND edited IS DISTINCT FROM pg_current_xact_id();
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER chatts_edited_insert AFTER INSERT ON chatts FOR EACH ROW
    WHEN (NEW.opened IS NULL AND coalesce(current_setting('chatterd.owner', true), '') = '')
    EXECUTE FUNCTION chatterd_note_edit();
CREATE TRIGGER chatts_edited_update AFTER UPDATE ON chatts FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM 'streaming' AND coalesce(current_setting('chatterd.owner', true), '') = '')
    EXECUTE FUNCTION chatterd_note_edit();
CREATE TRIGGER chatts_edited_delete AFTER DELETE ON chatts FOR EACH ROW
    WHEN (coalesce(current_setting('chatterd.owner', true), '') = '')
    EXECUTE FUNCTION chatterd_note_edit();
CREATE TRIGGER chatts_edited_truncate AFTER TRUNCATE ON chatts FOR EACH STATEMENT
    EXECUTE FUNCTION chatterd_note_edit();
