-- A pipeline: a view, a stream that is put out and read on, and a sink of two queries.
CREATE STREAM trades (symbol STRING, price DOUBLE, qty INT);
CREATE VIEW big AS SELECT * FROM trades WHERE qty > 1;
CREATE STREAM totals AS SELECT symbol, sum(qty) AS qty FROM big [RANGE 10] GROUP BY symbol;
INSERT INTO alerts SELECT symbol, qty FROM totals WHERE qty >= 5;
INSERT INTO alerts SELECT symbol, CAST(qty AS BIGINT) FROM trades [NOW] WHERE qty >= 4;
