-- Rows become columns, functions take functions, windows are cumulated; of nothing there is a row.
CREATE STREAM bids (item STRING, price INT, tags ARRAY<STRING>);
CREATE STREAM pivoted AS
SELECT * FROM (SELECT item, price, tags[0] AS tag FROM bids) PIVOT (max(price) FOR tag IN ('a', 'b'));
CREATE STREAM cumulated AS
SELECT window_start, window_end, count(*) AS n FROM TABLE(CUMULATE(TABLE bids, 2, 4))
GROUP BY window_start, window_end;
CREATE STREAM changed AS
SELECT item, transform(filter(tags, t -> t > 'a'), (t, i) -> concat(t, i, item)) AS tags FROM bids;
SET empty_aggregates = true;
CREATE STREAM many AS
SELECT count(*) AS n, max(price) AS highest FROM bids WHERE exists(tags, t -> t = 'c');
