-- kind: stop
-- Removes the references of a conversation to attachments that none of its messages has any more, after this transaction has removed or
-- changed messages. A trigger then removes attachments without references. It has no effect if the conversation has more than p_rows rows:
-- reading all of them for one would cost too much. Then the attachments stay until the conversation is removed.
CREATE FUNCTION chatterd_release(p_appid text, p_rows bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    digests bytea[];
BEGIN
    -- Each change of messages changes the row of their conversation. Row-level security lets a request change only those of its owner.
    IF NOT EXISTS (
        SELECT FROM chatterd_conversations v WHERE v.appid = p_appid AND v.xmin = pg_current_xact_id()::xid)
        OR NOT EXISTS (SELECT FROM chatterd_attachment_uses u WHERE u.appid = p_appid)
        OR EXISTS (SELECT FROM chatts c WHERE c.appid = p_appid ORDER BY c.seq OFFSET p_rows LIMIT 1)
    THEN
        RETURN;
    END IF;
    digests := ARRAY(
        SELECT DISTINCT decode(p.part, 'hex') FROM chatts c
        CROSS JOIN LATERAL unnest(string_to_array(c.extras, E'\x01')) WITH ORDINALITY AS p (part, number)
        WHERE c.appid = p_appid AND left(c.extras, 1) = E'\x01' AND p.number > 2 AND p.number % 2 = 0);
    DELETE FROM chatterd_attachment_uses u
    WHERE u.appid = p_appid AND u.digest NOT IN (SELECT d.digest FROM unnest(digests) AS d (digest));
END
$$;
