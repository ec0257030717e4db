-- Out of order by at most 7 at each source, and at most 20 ms on their way; one breaks that.
CREATE STREAM readings (sensor STRING, value INT) WITH (source = 'sensor', sources = 2, disorder = 7, latency = 20);
SET block = inf;
SELECT sensor, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY sensor;
