-- Lifetimes of equal rows as one, where one ends as the next begins: how long a door was open.
CREATE STREAM open (door STRING);
SELECT door FROM open [STITCH] [FROM ve FOR 1];
