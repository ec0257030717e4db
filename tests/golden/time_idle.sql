-- Sensor b is silent from 30 ms on: after the timeout a is not held back any more.
CREATE STREAM readings (sensor STRING, value INT) WITH (source = 'sensor', sources = 2, disorder = 2, timeout = 100);
SET block = inf;
SELECT sensor, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY sensor;
