-- Eager: every answer at once, corrected when the past changes; an event after its cti is a dead letter.
CREATE STREAM s (x INT);
SET emit = eager;
SELECT sum(x) AS total FROM s;
