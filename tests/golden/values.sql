-- A table of the query's own: its rows are there for ever.
CREATE STREAM orders (id INT, item STRING);
SELECT o.id, o.item, p.price FROM orders o JOIN (VALUES ('pen', 2), ('ink', 7)) AS p(item, price) USING (item);
