-- kind: stop
-- The conversations of requests without an identity, which are removed soon after their end. Their owner ends in U+001E, so no list has
-- them.
CREATE INDEX chatterd_conversations_stateless ON chatterd_conversations (appid) WHERE right(owner, 1) = E'\x1E';
