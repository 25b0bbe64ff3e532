-- kind: expand
-- The newest migration that the program of a process knows: a contraction waits for processes without it. Those of versions before this
-- column have none. See docs/decisions/0071-expand-and-contract.md.
ALTER TABLE chatterd_processes ADD COLUMN schema text;
COMMENT ON COLUMN chatterd_processes.schema IS 'newest migration that the program of the process knows; null before 0031_levels';
