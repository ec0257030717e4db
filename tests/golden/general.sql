-- [FROM ve FOR 2]: a row for 2 ticks after its session ends.
CREATE STREAM sessions (user STRING);
SELECT user FROM sessions [FROM ve FOR 2];
