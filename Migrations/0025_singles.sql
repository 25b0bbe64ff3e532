-- kind: stop
-- Requests of programs that nothing has followed (titles, tags, sub-agents) are in no list of conversations: their owner ends with E'\x1D'
-- until something follows (docs/decisions/0061-single-requests.md). This index finds the old ones.
CREATE INDEX chatterd_conversations_singles ON chatterd_conversations (changed_in) WHERE right(owner, 1) = E'\x1D';
