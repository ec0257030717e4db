-- The best of each team: ROW_NUMBER with a filter.
CREATE STREAM scores (team STRING, player STRING, score INT);
SELECT team, player FROM (
  SELECT *, row_number() OVER (PARTITION BY team ORDER BY score DESC) AS place FROM scores
) WHERE place = 1;
