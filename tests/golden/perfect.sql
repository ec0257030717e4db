-- Perfect and blocked: nothing is said that has to be taken back.
CREATE STREAM s (x INT);
SET emit = perfect;
SET block = inf;
SELECT sum(x) AS total FROM s;
