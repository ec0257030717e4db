-- A left join: a payment that comes late takes back that there was none; a payment that is
-- withdrawn brings it back.
CREATE STREAM orders (id INT, item STRING);
CREATE STREAM payments (id INT, amount INT);
SELECT o.id, item, amount FROM orders o LEFT JOIN payments p ON o.id = p.id;
