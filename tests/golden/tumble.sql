-- Windows as columns, with a late event; what comes after the cti of its window is a dead letter.
CREATE STREAM clicks (page STRING, at TIMESTAMP) WITH (time = 'at');
SELECT window_start, page, count(*) AS n
FROM TUMBLE(clicks, INTERVAL 10 SECONDS)
GROUP BY window_start, window_end, page;
