-- Set operations, distinct.
SELECT id FROM customer UNION ALL SELECT id FROM orders

SELECT id FROM customer UNION ALL SELECT id FROM orders UNION ALL SELECT 1

SELECT id, name FROM customer UNION ALL SELECT id, note FROM orders WHERE amount > 1

SELECT id FROM customer UNION SELECT customer FROM orders

SELECT id FROM customer UNION SELECT customer FROM orders UNION SELECT a FROM tiny

SELECT id FROM customer EXCEPT SELECT customer FROM orders

SELECT id FROM customer EXCEPT ALL SELECT customer FROM orders

SELECT id FROM customer INTERSECT SELECT customer FROM orders

SELECT id FROM customer INTERSECT ALL SELECT customer FROM orders

SELECT id FROM orders UNION (SELECT id FROM customer ORDER BY id LIMIT 1) EXCEPT SELECT 3

SELECT a FROM tiny UNION ALL (SELECT x FROM small EXCEPT SELECT a FROM tiny)

SELECT * FROM (SELECT 1 AS a, 2 AS b UNION ALL BY NAME SELECT 3 AS b, 4 AS c)

SELECT id, 'customer' AS kind FROM customer UNION ALL SELECT amount, note FROM orders

SELECT i8 FROM every_type UNION ALL SELECT i64 FROM every_type UNION ALL SELECT f64 FROM every_type

SELECT q.id + 1 AS next FROM (SELECT id FROM customer UNION ALL SELECT id FROM orders) q WHERE q.id > 2

SELECT o.id, q.id FROM orders o JOIN (SELECT id FROM customer UNION SELECT id FROM nation) q ON o.id = q.id

SELECT DISTINCT customer FROM orders

SELECT DISTINCT customer, note FROM orders WHERE amount > 1

SELECT DISTINCT upper(note) AS loud FROM orders

SELECT DISTINCT * FROM orders

SELECT DISTINCT ON (customer) customer, id, amount FROM orders ORDER BY customer, amount DESC NULLS LAST, id

SELECT DISTINCT ON (customer) id % 2 AS odd FROM orders ORDER BY customer, id, odd

SELECT DISTINCT id, placed FROM orders ORDER BY placed + 1

SELECT lower(n) FROM (SELECT DISTINCT name COLLATE NOCASE AS n FROM customer)

SELECT lower(n) FROM (SELECT name COLLATE NOCASE AS n FROM customer UNION SELECT note FROM orders)

SELECT count(DISTINCT customer) AS n FROM (SELECT DISTINCT customer, note FROM orders)

SELECT id FROM customer UNION ALL SELECT id FROM orders ORDER BY id DESC

SELECT id FROM customer UNION ALL SELECT id FROM orders ORDER BY 1 LIMIT 3

SELECT NULL AS nothing UNION ALL SELECT 1
