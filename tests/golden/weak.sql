-- A short memory: what is later than 2 ticks is a dead letter, and counted.
CREATE STREAM s (x INT);
SET remember = 2;
SELECT count(*) AS n FROM s;
