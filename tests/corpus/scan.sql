-- Scans, projections, filters.
SELECT id, name FROM customer

SELECT * FROM orders

SELECT * FROM every_type

SELECT count(*) FROM customer, orders

SELECT * FROM memory.main.plain WHERE id = 2

SELECT o.id, p.word FROM orders o JOIN memory.main.plain p ON o.id = p.id

SELECT * FROM customer AT (VERSION => 3)

SELECT c.id FROM customer c AT (VERSION => 3) JOIN customer d ON c.id = d.id

SELECT * FROM rush_orders

SELECT twice(id) AS doubled FROM orders

SELECT * FROM orders_of(2)

SELECT * EXCLUDE (note) REPLACE (amount + 1 AS amount) FROM orders

SELECT COLUMNS('i.*') FROM orders

SELECT 1 AS one FROM orders WHERE FALSE

SELECT rowid, id FROM memory.main.plain

-- rows differ
SELECT filename IS NULL AS inlined, file_row_number, snapshot_id, rowid, id FROM orders

SELECT id AS "Odd ""name""", name AS "select" FROM customer WHERE id IS NOT NULL

SELECT o.id, o.id, o.id AS "ID" FROM orders o

SELECT * FROM orders WHERE amount BETWEEN 1 AND 15

SELECT * FROM orders WHERE customer IN (1, 2, 3) AND note NOT IN ('rush')

SELECT * FROM orders WHERE note IS DISTINCT FROM 'rush' OR amount IS NULL

SELECT id FROM customer WHERE NOT (id = 1 AND nation = 1)

SELECT word = 'a' AS same, word FROM memory.main.collated

SELECT word, count(*) AS n FROM memory.main.collated GROUP BY word ORDER BY word

SELECT * FROM (SELECT id + 1 AS next, customer FROM orders) q WHERE next > 3

SELECT next * 2 AS twice_next, next AS again FROM (SELECT id + 1 AS next FROM orders) q
