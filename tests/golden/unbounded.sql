-- Without an end: running totals, whatever lifetimes the log gives.
CREATE STREAM trades (symbol STRING, price DOUBLE, qty INT);
SELECT symbol, sum(qty) AS total FROM trades [UNBOUNDED] GROUP BY symbol;
