-- The clocks are at most 6 apart: a, which is ahead, promises for b.
CREATE STREAM readings (sensor STRING, value INT) WITH (source = 'sensor', disorder = 0, skew = 6);
SET block = inf;
SELECT sensor, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY sensor;
