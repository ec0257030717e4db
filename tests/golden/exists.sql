-- EXISTS and NOT EXISTS as semi and anti joins, in one script with two outputs.
CREATE STREAM orders (id INT, item STRING);
CREATE STREAM payments (id INT, amount INT);
CREATE STREAM paid AS SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM payments p WHERE p.id = orders.id);
CREATE STREAM unpaid AS SELECT * FROM orders WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.id = orders.id);
