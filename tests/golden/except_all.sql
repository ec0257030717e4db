-- Bags: of each row as many are left as the other side has fewer.
CREATE STREAM a (x INT);
CREATE STREAM b (x INT);
SELECT x FROM a EXCEPT ALL SELECT x FROM b;
