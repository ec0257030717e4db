-- Sets: a row is there once while both sides have it.
CREATE STREAM a (x INT);
CREATE STREAM b (x INT);
SELECT x FROM a INTERSECT SELECT x FROM b;
