-- Lifetimes that end where a row of another stream comes; and pieces of lifetimes, put together.
CREATE STREAM orders (id INT);
CREATE STREAM shipped (id INT);
SELECT id FROM orders [UNTIL shipped ON orders.id = shipped.id];
