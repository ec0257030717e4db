-- One source only retracts: it is heard all the same, and none of its retracts is too late.
CREATE STREAM alarms (sensor STRING, value INT) WITH (source = 'sensor', sources = 2, disorder = 0, timeout = 50);
SET block = inf;
SELECT sensor, count(*) AS alarms FROM alarms GROUP BY sensor;
