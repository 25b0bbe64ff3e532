-- kind: stop
-- What credentials have used, by day (UTC). source is the key or the external issuer behind a credential: 'key ID' or 'issuer APP'. owner is
-- the beginning of the keys of the owner's conversations; it is empty in the rows of totals.
CREATE TABLE chatterd_usage (
    source text NOT NULL,
    owner text NOT NULL,
    day date NOT NULL,
    requests bigint NOT NULL,
    prompt_tokens bigint NOT NULL,
    answer_tokens bigint NOT NULL,
    PRIMARY KEY (source, day, owner)
);
CREATE INDEX chatterd_usage_owner ON chatterd_usage (owner, day);

-- The requests that chatterd_usage does not have yet. The tokens are reserved until the request is settled; then they are used. A row
-- belongs to one reply, so no statement that ends replies waits for another one here.
CREATE TABLE chatterd_charges (
    reply uuid PRIMARY KEY,
    source text NOT NULL,
    owner text NOT NULL,
    day date NOT NULL,
    holder uuid,
    prompt_tokens bigint NOT NULL,
    answer_tokens bigint NOT NULL,
    settled_at timestamptz
);
CREATE INDEX chatterd_charges_source ON chatterd_charges (source);
CREATE INDEX chatterd_charges_owner ON chatterd_charges (owner);

COMMENT ON COLUMN chatterd_charges.holder IS
    'of a request without a row in chatts: the process that passes it on; it counts as running while the process lives';

-- The requests of a minute, for each key, external issuer and owner with a limit: the time at which the allowance is whole again (the
-- generic cell rate algorithm). The lock of a row puts the requests of its subject into one order.
CREATE TABLE chatterd_meters (
    subject text PRIMARY KEY,
    full_at timestamptz NOT NULL
);

-- A reply with reserved tokens has a row in chatterd_charges, which its end settles.
ALTER TABLE chatts ADD COLUMN reserved bigint;

COMMENT ON COLUMN chatts.reserved IS 'of a reply: the tokens that a credential reserved for it; null for none';

-- Checks one request against the limits of a subject, and counts it against the requests of the minute. amount is the number of tokens
-- that it reserves. refused is the limit that it exceeds; retry is the number of seconds after which there may be room.
CREATE FUNCTION chatterd_meter(
    p_subject text, p_requests bigint, p_tokens bigint, p_replies bigint, p_amount bigint,
    OUT refused text, OUT retry bigint, OUT requests_left bigint, OUT requests_reset bigint, OUT tokens_left bigint,
    OUT replies_left bigint
) LANGUAGE plpgsql AS $$
DECLARE
    minute CONSTANT bigint := 60000000;
    moment timestamptz;
    today date;
    step bigint;
    missing bigint;
    running bigint;
    used bigint;
BEGIN
    LOOP
        SELECT coalesce((extract(epoch FROM m.full_at) * 1000000)::bigint, 0) INTO missing
        FROM chatterd_meters m WHERE m.subject = p_subject FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO chatterd_meters (subject, full_at) VALUES (p_subject, 'epoch') ON CONFLICT (subject) DO NOTHING;
    END LOOP;
    -- The time after the lock, so that it does not go back from one request to the next.
    moment := clock_timestamp();
    today := (moment AT TIME ZONE 'UTC')::date;
    missing := greatest(missing - (extract(epoch FROM moment) * 1000000)::bigint, 0);

    -- A statement sees what was committed before it: here, all requests of the subject before this one.
    IF p_tokens IS NOT NULL OR p_replies IS NOT NULL THEN
        SELECT count(*) FILTER (WHERE c.settled_at IS NULL AND (
                c.holder IS NULL
                OR EXISTS (SELECT FROM chatterd_processes l WHERE l.id = c.holder AND l.expires_at > moment))),
            coalesce(sum(c.prompt_tokens + c.answer_tokens) FILTER (WHERE c.day = today), 0) + (
                SELECT coalesce(sum(u.prompt_tokens + u.answer_tokens), 0) FROM chatterd_usage u
                WHERE u.day = today AND (u.source = p_subject AND u.owner = '' OR u.owner = p_subject))
        INTO running, used
        FROM chatterd_charges c WHERE c.source = p_subject OR c.owner = p_subject;
    END IF;
    IF p_tokens IS NOT NULL THEN
        tokens_left := greatest(p_tokens - used, 0);
        IF used + p_amount > p_tokens THEN
            refused := 'tokens_per_day';
            retry := ceil(extract(epoch FROM (today + 1)::timestamp AT TIME ZONE 'UTC' - moment));
        ELSE
            tokens_left := tokens_left - p_amount;
        END IF;
    END IF;
    IF p_replies IS NOT NULL THEN
        replies_left := greatest(p_replies - running, 0);
        IF running >= p_replies THEN
            refused := 'concurrent_replies';
            retry := 1;
        END IF;
    END IF;
    IF p_requests IS NOT NULL THEN
        -- The time that one request takes from the minute, rounded down, so that the minute has room for all of them.
        step := minute / greatest(p_requests, 1);
        IF p_requests = 0 OR missing + step > minute THEN
            refused := 'requests_per_minute';
            retry := CASE p_requests WHEN 0 THEN 60 ELSE ceil((missing + step - minute) / 1000000.0) END;
        ELSIF refused IS NULL THEN
            missing := missing + step;
            UPDATE chatterd_meters m SET full_at = moment + missing * interval '1 microsecond' WHERE m.subject = p_subject;
        END IF;
        requests_left := CASE WHEN p_requests = 0 THEN 0 WHEN step = 0 THEN p_requests ELSE (minute - missing) / step END;
        requests_reset := ceil(missing / 1000000.0);
    END IF;
END
$$;

-- Counts the request of a reply, and reserves tokens for it: a token for four bytes of the prompt, at most p_longest, and those of the
-- answer, p_answer unless the request names a number. Returns no row if the statement before it has opened no such reply. p_appid is null
-- for a request outside of conversations, whose prompt has p_bytes. Raises CH429 if a limit of the source or of the owner (own) is reached:
-- the message has the limit and the numbers of the row.
CREATE FUNCTION chatterd_charge(
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
        -- The size of a conversation counts 256 bytes for each row in addition to its text.
        SELECT greatest(p_bytes, c.total - 256 * c.seq),
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

-- Settles the charge of a reply when it ends, whoever ends it: with the tokens that the model server reported in the last line, or a token
-- for four bytes of the answer. A reply for which no model server was asked, or that failed without a word, used none. A reply that is removed
-- while it runs keeps what it had reserved. Texts in JSON escape quotes, so the text of an answer cannot look like a count.
CREATE FUNCTION chatterd_settle() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE chatterd_charges SET settled_at = now() WHERE reply = OLD.id AND settled_at IS NULL;
    ELSIF NEW.state IN ('failed', 'cancelled') AND NEW.account IS NULL
        OR NEW.state = 'failed' AND NEW.message = '' AND NEW.thinking IS NULL AND NEW.extras IS NULL THEN
        UPDATE chatterd_charges SET settled_at = now(), prompt_tokens = 0, answer_tokens = 0
        WHERE reply = OLD.id AND settled_at IS NULL;
    ELSE
        UPDATE chatterd_charges SET
            settled_at = now(),
            prompt_tokens = coalesce(
                substring(NEW.last_event FROM '"prompt_eval_count"\s*:\s*([0-9]{1,9})(?:[^0-9]|$)')::bigint, prompt_tokens),
            answer_tokens = coalesce(
                substring(NEW.last_event FROM '"eval_count"\s*:\s*([0-9]{1,9})(?:[^0-9]|$)')::bigint,
                (octet_length(NEW.message) + coalesce(octet_length(NEW.thinking), 0)
                    + coalesce(octet_length(NEW.extras), 0) + 3) / 4)
        WHERE reply = OLD.id AND settled_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER chatts_settle AFTER UPDATE OF state ON chatts FOR EACH ROW
    WHEN (OLD.reserved IS NOT NULL AND OLD.state = 'streaming' AND NEW.state <> 'streaming')
    EXECUTE FUNCTION chatterd_settle();
CREATE TRIGGER chatts_settle_removed AFTER DELETE ON chatts FOR EACH ROW
    WHEN (OLD.reserved IS NOT NULL AND OLD.state = 'streaming')
    EXECUTE FUNCTION chatterd_settle();
