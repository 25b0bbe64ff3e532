-- kind: stop
-- Numbers that a peer has chosen, in the usage: the counts in a last line, and the numbers of imported rows.

-- The count after a name, with its quotes, in the last event of a reply; null for none, and for a number that is not whole or has more than
-- nine digits. Calls of tools have members whose names the client chose, so an event with calls is read as JSON; its text cannot look like a
-- count, because JSON escapes quotes. Reading JSON costs more than the rest of a settlement.
CREATE OR REPLACE FUNCTION chatterd_count(p_event text, p_name text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    place integer := strpos(p_event, p_name);
    rest text;
    size integer;
BEGIN
    IF coalesce(place, 0) = 0 THEN
        RETURN NULL;
    END IF;
    IF strpos(p_event, '"tool_calls"') > 0 THEN
        -- A row that was changed by hand may have an event that is no JSON.
        BEGIN
            rest := p_event::json -> btrim(p_name, '"');
        EXCEPTION WHEN data_exception THEN
            RETURN NULL;
        END;
        RETURN CASE WHEN rest ~ '^[0-9]{1,9}$' THEN rest::bigint END;
    END IF;
    rest := ltrim(substr(p_event, place + length(p_name), 32), ': ');
    size := length(rest) - length(ltrim(rest, '0123456789'));
    IF size BETWEEN 1 AND 9 AND substr(rest, size + 1, 1) NOT IN ('.', 'e', 'E') THEN
        RETURN left(rest, size)::bigint;
    END IF;
    RETURN substring(p_event FROM p_name || '\s*:\s*([0-9]{1,9})(?:[^0-9.eE]|$)')::bigint;
END
$$;

-- The bytes of a conversation's texts, from its size, which counts 256 bytes more for each row. The numbers of imported rows have gaps; a
-- number above the possible rows says nothing about them, so all of the size counts.
CREATE FUNCTION chatterd_prompt_size(p_total bigint, p_seq bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_seq <= p_total / 256 THEN p_total - 256 * p_seq ELSE p_total END
$$;

-- As before, with chatterd_prompt_size.
CREATE OR REPLACE FUNCTION chatterd_charge(
    p_appid text, p_reply uuid, p_holder uuid, p_source text, p_owner text, p_bytes bigint, p_longest bigint, p_answer bigint,
    p_requests bigint, p_tokens bigint, p_replies bigint,
    p_own_requests bigint, p_own_tokens bigint, p_own_replies bigint
) RETURNS TABLE (
    requests_maximum bigint, requests_left bigint, requests_reset bigint, tokens_maximum bigint, tokens_left bigint,
    tokens_reset bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    prompt bigint := p_bytes;
    answer bigint := p_answer;
    wanted bigint;
    source_level record;
    owner_level record;
    refused record;
    maximum bigint;
    today date;
BEGIN
    IF p_appid IS NOT NULL THEN
        SELECT greatest(p_bytes, chatterd_prompt_size(c.total, c.seq)),
            substring(c.options FROM '"(?:num_predict|max_completion_tokens|max_tokens)"\s*:\s*([0-9]{1,9})(?:[^0-9]|$)')::bigint
        INTO prompt, wanted
        FROM chatts c WHERE c.appid = p_appid AND c.id = p_reply AND c.turn = c.seq AND c.state = 'streaming';
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    prompt := least(prompt / 4 + 1, p_longest);
    answer := coalesce(nullif(wanted, 0), p_answer);

    -- The source first, then the owner: two requests lock them in one order.
    IF num_nonnulls(p_requests, p_tokens, p_replies) > 0 THEN
        SELECT * INTO source_level FROM chatterd_meter(p_source, p_requests, p_tokens, p_replies, prompt + answer);
    ELSE
        SELECT NULL::text AS refused, NULL::bigint AS requests_left, NULL::bigint AS tokens_left INTO source_level;
    END IF;
    IF num_nonnulls(p_own_requests, p_own_tokens, p_own_replies) > 0 THEN
        SELECT * INTO owner_level
        FROM chatterd_meter(p_owner, p_own_requests, p_own_tokens, p_own_replies, prompt + answer);
    ELSE
        SELECT NULL::text AS refused, NULL::bigint AS requests_left, NULL::bigint AS tokens_left INTO owner_level;
    END IF;

    today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    IF source_level.requests_left IS NOT NULL
        AND (owner_level.requests_left IS NULL OR source_level.requests_left <= owner_level.requests_left) THEN
        requests_maximum := p_requests;
        requests_left := source_level.requests_left;
        requests_reset := source_level.requests_reset;
    ELSIF owner_level.requests_left IS NOT NULL THEN
        requests_maximum := p_own_requests;
        requests_left := owner_level.requests_left;
        requests_reset := owner_level.requests_reset;
    END IF;
    IF source_level.tokens_left IS NOT NULL
        AND (owner_level.tokens_left IS NULL OR source_level.tokens_left <= owner_level.tokens_left) THEN
        tokens_maximum := p_tokens;
        tokens_left := source_level.tokens_left;
    ELSIF owner_level.tokens_left IS NOT NULL THEN
        tokens_maximum := p_own_tokens;
        tokens_left := owner_level.tokens_left;
    END IF;
    tokens_reset := CASE WHEN tokens_maximum IS NOT NULL
        THEN ceil(extract(epoch FROM (today + 1)::timestamp AT TIME ZONE 'UTC' - clock_timestamp())) END;

    IF source_level.refused IS NOT NULL OR owner_level.refused IS NOT NULL THEN
        IF source_level.refused IS NOT NULL THEN
            refused := source_level;
            maximum := CASE refused.refused WHEN 'requests_per_minute' THEN p_requests
                WHEN 'tokens_per_day' THEN p_tokens ELSE p_replies END;
        ELSE
            refused := owner_level;
            maximum := CASE refused.refused WHEN 'requests_per_minute' THEN p_own_requests
                WHEN 'tokens_per_day' THEN p_own_tokens ELSE p_own_replies END;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'CH429', MESSAGE = concat_ws(' ', refused.refused,
            CASE WHEN source_level.refused IS NULL THEN 'owner' ELSE 'source' END, maximum,
            CASE refused.refused WHEN 'requests_per_minute' THEN refused.requests_left
                WHEN 'tokens_per_day' THEN refused.tokens_left ELSE refused.replies_left END,
            refused.retry, prompt + answer, coalesce(requests_maximum, -1), coalesce(requests_left, -1),
            coalesce(requests_reset, -1), coalesce(tokens_maximum, -1), coalesce(tokens_left, -1),
            coalesce(tokens_reset, -1));
    END IF;

    IF p_appid IS NOT NULL THEN
        UPDATE chatts c SET reserved = prompt + answer WHERE c.appid = p_appid AND c.id = p_reply AND c.turn = c.seq;
    END IF;
    INSERT INTO chatterd_charges (reply, source, owner, day, holder, prompt_tokens, answer_tokens)
    VALUES (p_reply, p_source, p_owner, today, CASE WHEN p_appid IS NULL THEN p_holder END, prompt, answer);
    RETURN NEXT;
END
$$;
