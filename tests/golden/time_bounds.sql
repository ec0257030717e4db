-- b is at most 4 behind a, 2 ms on its way; what c sends 10 ms after a record of b is later than it.
-- So a promises for b, and both for c; d is not in the file, and nothing waits for it.
CREATE STREAM readings (sensor STRING, value INT)
  WITH (source = 'sensor', bounds = 'tests/golden/time_bounds.csv');
SET block = inf;
SELECT sensor, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY sensor;
