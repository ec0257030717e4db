-- A set of both, in which a row stays while either side has it.
CREATE STREAM a (x INT);
CREATE STREAM b (x INT);
SELECT x FROM a UNION SELECT x FROM b;
