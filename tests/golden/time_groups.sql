-- Sources of a region are at most 5 apart, regions as far as the file says: eu promises for us.
CREATE STREAM readings (sensor STRING, region STRING, value INT)
  WITH (source = 'sensor', groups = 'region', disorder = 1, skew = 5,
        bounds = 'tests/golden/time_groups.csv');
SET block = inf;
SELECT region, sum(value) AS total FROM readings [RANGE 10 SLIDE 10] GROUP BY region;
