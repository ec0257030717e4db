-- A moving total and the price before: a late trade corrects the rows after it within the frame.
CREATE STREAM trades (symbol STRING, at INT, price INT);
SELECT symbol, at, price,
  sum(price) OVER (PARTITION BY symbol ORDER BY at RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS total,
  lag(price, 1, 0) OVER (PARTITION BY symbol ORDER BY at) AS before
FROM trades;
