-- A stream with a primary key: a row replaces those before it, from its time on, also when it comes
-- late; a join as of some time finds the rows that were replaced since.
CREATE TABLE orders (id INT, currency STRING, at BIGINT) WITH (time = 'at');
CREATE TABLE rates (currency STRING, rate INT, at BIGINT, PRIMARY KEY (currency) NOT ENFORCED) WITH (time = 'at');
CREATE STREAM current AS SELECT currency, rate FROM rates;
CREATE STREAM paid AS
SELECT id, rate FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.at AS r ON o.currency = r.currency;
