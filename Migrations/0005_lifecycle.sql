-- kind: stop
-- A lease knows since when it has been renewed without a gap: that proves that the database could be reached all the time, so
-- that a process whose own lease has expired meanwhile is dead. A process of an earlier version leaves it null, and proves
-- nothing.
ALTER TABLE chatterd_processes ADD COLUMN since timestamptz;

COMMENT ON COLUMN chatterd_processes.since IS 'since when the lease has been renewed without a gap';

-- A stopping process leaves replies to the others. The number is bounded, and counted apart from deaths.
ALTER TABLE chatts ADD COLUMN handovers integer;

COMMENT ON COLUMN chatts.handovers IS 'of a reply: how often a process that was stopped left it to the others';

-- Earlier versions forgot the leases of processes that left replies open for more than two days. The holder of all zeros marks
-- a reply that has been given up: the next round of any process settles it or makes it again.
UPDATE chatts c SET holder = '00000000-0000-0000-0000-000000000000'
WHERE c.state = 'streaming' AND c.turn = c.seq
    AND NOT EXISTS (SELECT FROM chatterd_processes l WHERE l.id = c.holder);
