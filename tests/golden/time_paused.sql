-- All pause: after the timeout everything that came is complete, and what is older is too late.
CREATE STREAM readings (sensor STRING, value INT) WITH (source = 'sensor', sources = 2, disorder = 4, timeout = 50);
SET block = inf;
SELECT sensor, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY sensor;
