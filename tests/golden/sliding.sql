-- A sliding window: each trade counts for 10 ticks.
CREATE STREAM trades (symbol STRING, price DOUBLE, qty INT);
SELECT symbol, sum(price * qty) / sum(qty) AS vwap FROM trades [RANGE 10] GROUP BY symbol;
