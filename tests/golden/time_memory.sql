-- Orders wait for payments, with which they are joined; counts of visits, which another stage makes,
-- are joined with that: as the join gives more than it takes, its rows wait for these, too.
CREATE STREAM orders (k STRING, x INT) WITH (disorder = 2);
CREATE STREAM payments (k STRING, y INT) WITH (disorder = 2);
CREATE STREAM visits (k STRING, page STRING) WITH (disorder = 2);
SET block = inf; SET heartbeat = 'memory';
CREATE VIEW pages AS SELECT k, page, count(*) AS n FROM visits [RANGE 5] GROUP BY k, page;
CREATE VIEW most AS SELECT k, max(n) AS n FROM pages GROUP BY k;
SELECT o.k, o.x, p.y, m.n
FROM orders [RANGE 4] AS o JOIN payments [RANGE 4] AS p ON o.k = p.k JOIN most AS m ON o.k = m.k;
