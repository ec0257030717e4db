-- Windows that overlap, by a column other than the stream's time.
CREATE STREAM bids (price INT, placed BIGINT);
SELECT window_end, max(price) AS highest
FROM HOP(TABLE bids, DESCRIPTOR(placed), 5, 10)
GROUP BY window_start, window_end;
