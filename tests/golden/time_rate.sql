-- Clocks advance by half a tick in a millisecond, at least: while a is silent, windows close.
CREATE STREAM readings (sensor STRING, value INT)
  WITH (source = 'sensor', disorder = 2, rate = '1/2');
SET block = inf;
SELECT sensor, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY sensor;
