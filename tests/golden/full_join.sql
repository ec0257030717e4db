-- A full join by USING: the key comes once.
CREATE STREAM orders (id INT, item STRING);
CREATE STREAM payments (id INT, amount INT);
SELECT id, item, amount FROM orders FULL JOIN payments USING (id);
