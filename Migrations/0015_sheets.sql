-- kind: stop
-- Sheets are the rows of the journal that have new text of many running replies: one row for each process and flush. They are in tables that
-- take turns: one table is written, while processes repeat the text of their running replies there, and then the older tables are
-- truncated. So the journal leaves no dead rows. A dump pins the tables that exist when it begins; further tables are created meanwhile.
-- See docs/decisions/0038-sheets.md.
--
-- A slot is the number of one part (0 text, 1 thinking, 2 tool calls) of an attempt at a reply, in the sheets of a process. The sheet that
-- opens a slot has the reply, the attempt, and the size of the other two parts (others). A piece has the slot, the byte of the part at
-- which it begins, and its text.
CREATE TABLE chatterd_sheets (
    holder uuid NOT NULL,
    opened integer[] NOT NULL,
    replies uuid[] NOT NULL,
    attempts integer[] NOT NULL,
    parts integer[] NOT NULL,
    others integer[] NOT NULL,
    slots integer[] NOT NULL,
    starts integer[] NOT NULL,
    texts text[] NOT NULL
);
-- To compress them would cost more CPU than it saves: sheets live for a minute.
ALTER TABLE chatterd_sheets
    ALTER COLUMN opened SET STORAGE EXTERNAL, ALTER COLUMN replies SET STORAGE EXTERNAL,
    ALTER COLUMN attempts SET STORAGE EXTERNAL, ALTER COLUMN parts SET STORAGE EXTERNAL,
    ALTER COLUMN others SET STORAGE EXTERNAL, ALTER COLUMN slots SET STORAGE EXTERNAL,
    ALTER COLUMN starts SET STORAGE EXTERNAL, ALTER COLUMN texts SET STORAGE EXTERNAL;
CREATE TABLE chatterd_sheets_1 () INHERITS (chatterd_sheets) WITH (autovacuum_enabled = false);
CREATE TABLE chatterd_sheets_2 () INHERITS (chatterd_sheets) WITH (autovacuum_enabled = false);

COMMENT ON TABLE chatterd_sheets IS 'the journal of running replies; the rows are in the tables that inherit from this one';

-- The tables of sheets. The one with the greatest generation is written; those with generation 0 are empty.
CREATE TABLE chatterd_sheet_tables (
    number integer PRIMARY KEY,
    generation integer NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO chatterd_sheet_tables (number, generation) VALUES (1, 1), (2, 0);

-- The oldest generation of sheets that a process needs. Null: a process of an earlier version, which writes no sheets.
ALTER TABLE chatterd_processes ADD COLUMN sheets integer;

-- Writes a sheet to the current table, unless it has no piece. Returns the generation of that table.
CREATE FUNCTION chatterd_write_sheet(
    p_holder uuid, p_opened integer[], p_replies uuid[], p_attempts integer[], p_parts integer[], p_others integer[],
    p_slots integer[], p_starts integer[], p_texts text[]
) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    target record;
BEGIN
    IF current_setting('role') = 'chatterd_member' THEN
        RAISE insufficient_privilege USING MESSAGE = 'requests do not write sheets';
    END IF;
    SELECT t.number, t.generation INTO target FROM chatterd_sheet_tables t ORDER BY t.generation DESC LIMIT 1;
    IF cardinality(p_slots) > 0 THEN
        EXECUTE format('INSERT INTO chatterd_sheets_%s VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', target.number)
        USING p_holder, p_opened, p_replies, p_attempts, p_parts, p_others, p_slots, p_starts, p_texts;
    END IF;
    RETURN target.generation;
END
$$;

-- The pieces of replies in sheets, as rows of the journal: only of replies in the scope of the transaction. The policies of row-level
-- security do not apply inside the function, so it has their condition.
CREATE FUNCTION chatterd_sheet_pieces(p_replies uuid[]) RETURNS TABLE (
    reply uuid, attempt integer, start bigint, text_at bigint, thinking_at bigint, calls_at bigint,
    text text, thinking text, calls text
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH permitted AS MATERIALIZED (
        SELECT c.id FROM chatts c
        WHERE c.id = ANY (p_replies) AND c.turn = c.seq AND starts_with(c.appid || E'\x1F\x1F', (
            SELECT CASE WHEN current_setting('role') <> 'chatterd_member' OR s.owner = '*' THEN '' ELSE nullif(s.owner, '') END
            FROM current_setting('chatterd.owner', true) AS s (owner)))
    ), slot AS MATERIALIZED (
        SELECT s.holder, o.number, o.reply, o.attempt, o.part, o.others
        FROM chatterd_sheets s
        CROSS JOIN LATERAL unnest(s.opened, s.replies, s.attempts, s.parts, s.others) AS o (number, reply, attempt, part, others)
        WHERE s.replies && ARRAY(SELECT id FROM permitted) AND o.reply IN (SELECT id FROM permitted)
    )
    SELECT o.reply, o.attempt, p.start + o.others::bigint,
        CASE o.part WHEN 0 THEN p.start ELSE 0 END, CASE o.part WHEN 1 THEN p.start ELSE 0 END,
        CASE o.part WHEN 2 THEN p.start ELSE 0 END,
        CASE o.part WHEN 0 THEN p.text ELSE '' END, CASE o.part WHEN 1 THEN p.text ELSE '' END,
        CASE o.part WHEN 2 THEN p.text ELSE '' END
    FROM chatterd_sheets s
    CROSS JOIN LATERAL unnest(s.slots, s.starts, s.texts) AS p (slot, start, text)
    JOIN slot o ON o.holder = s.holder AND o.number = p.slot
    WHERE s.slots && ARRAY(SELECT number FROM slot)
$$;

-- Truncates the tables of sheets that no process needs, and begins the next table when the current one is old or large. Returns the
-- generation of the current table. A process calls it every two seconds; without work it reads three small rows.
--
-- A table is needed while a process has not repeated its text in the current one, or while a reply is released or handed over: such a
-- reply is closed with its text in any table. Tables that another transaction reads, such as a dump, wait for the next call.
CREATE FUNCTION chatterd_turn_sheets(p_age interval, p_size bigint, p_least interval) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    current record;
    candidate record;
    is_needed boolean;
    size bigint;
    next integer;
BEGIN
    IF current_setting('role') = 'chatterd_member' THEN
        RAISE insufficient_privilege USING MESSAGE = 'requests do not turn sheets';
    END IF;
    SELECT t.* INTO current FROM chatterd_sheet_tables t ORDER BY t.generation DESC LIMIT 1;
    IF now() - current.opened_at < p_least
        AND NOT EXISTS (SELECT FROM chatterd_sheet_tables t WHERE t.generation BETWEEN 1 AND current.generation - 1)
        OR NOT pg_try_advisory_xact_lock(x'736865657473'::bigint) THEN
        RETURN current.generation;
    END IF;
    SELECT t.* INTO current FROM chatterd_sheet_tables t ORDER BY t.generation DESC LIMIT 1;

    is_needed := EXISTS (SELECT FROM chatterd_processes l WHERE l.sheets < current.generation)
        OR EXISTS (
            SELECT FROM chatts c WHERE c.state = 'streaming' AND c.holder IN (
                '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001'));
    IF is_needed THEN
        RETURN current.generation;
    END IF;

    FOR candidate IN
        SELECT t.number FROM chatterd_sheet_tables t WHERE t.generation BETWEEN 1 AND current.generation - 1
        ORDER BY t.generation
    LOOP
        BEGIN
            EXECUTE format('LOCK TABLE chatterd_sheets_%s IN ACCESS EXCLUSIVE MODE NOWAIT', candidate.number);
            EXECUTE format('TRUNCATE chatterd_sheets_%s', candidate.number);
            UPDATE chatterd_sheet_tables t SET generation = 0 WHERE t.number = candidate.number;
        EXCEPTION WHEN lock_not_available THEN
            CONTINUE;
        END;
    END LOOP;

    EXECUTE format(
        'SELECT CASE WHEN pg_relation_size(%1$L) > 0 THEN pg_total_relation_size(%1$L) ELSE 0 END',
        'chatterd_sheets_' || current.number)
    INTO size;
    IF size = 0 OR now() - current.opened_at < (CASE WHEN size >= p_size THEN p_least ELSE p_age END) THEN
        RETURN current.generation;
    END IF;

    -- An empty table that a dump holds would be pinned as soon as it is written.
    FOR candidate IN SELECT t.number FROM chatterd_sheet_tables t WHERE t.generation = 0 ORDER BY t.number LOOP
        BEGIN
            EXECUTE format('LOCK TABLE chatterd_sheets_%s IN ACCESS EXCLUSIVE MODE NOWAIT', candidate.number);
            IF next IS NULL THEN
                next := candidate.number;
            ELSIF candidate.number > 2 THEN
                EXECUTE format('DROP TABLE chatterd_sheets_%s', candidate.number);
                DELETE FROM chatterd_sheet_tables t WHERE t.number = candidate.number;
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            CONTINUE;
        END;
    END LOOP;
    IF next IS NULL THEN
        SELECT max(t.number) + 1 INTO next FROM chatterd_sheet_tables t;
        EXECUTE format('CREATE TABLE chatterd_sheets_%s () INHERITS (chatterd_sheets) WITH (autovacuum_enabled = false)', next);
        INSERT INTO chatterd_sheet_tables (number, generation) VALUES (next, current.generation + 1);
    ELSE
        UPDATE chatterd_sheet_tables t SET generation = current.generation + 1, opened_at = now() WHERE t.number = next;
    END IF;
    RETURN current.generation + 1;
END
$$;
