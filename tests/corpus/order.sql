-- Sorting, limits, samples.
SELECT id, note FROM orders ORDER BY id DESC NULLS FIRST, note

SELECT id FROM orders ORDER BY amount * 2, placed DESC LIMIT 3

SELECT id FROM orders ORDER BY id, placed LIMIT 3 OFFSET 2

SELECT id, amount FROM orders ORDER BY id, note OFFSET 3

SELECT id FROM orders ORDER BY id, placed LIMIT 30%

SELECT id FROM orders ORDER BY id LIMIT 1 + 2

-- only by name
SELECT id FROM orders ORDER BY id LIMIT (SELECT 3)

-- only by name
SELECT id FROM orders ORDER BY id LIMIT (SELECT max(a) FROM tiny) OFFSET (SELECT 1)

-- only by name
SELECT id FROM orders ORDER BY id LIMIT (SELECT NULL::INTEGER)

SELECT id FROM orders ORDER BY id LIMIT (10 + 20)%

-- only by name
SELECT id FROM orders ORDER BY id LIMIT (SELECT 30)%

SELECT id FROM orders ORDER BY id LIMIT ALL

SELECT id FROM orders ORDER BY id LIMIT 0

SELECT * FROM (SELECT id FROM orders ORDER BY id LIMIT 4) WHERE id > 1

SELECT q.id, c.name FROM (SELECT id, customer FROM orders ORDER BY id LIMIT 4) q JOIN customer c ON q.customer = c.id

SELECT id + 1 FROM (SELECT id FROM orders ORDER BY id LIMIT 3) ORDER BY 1 DESC LIMIT 2

SELECT customer, sum(amount) AS s FROM orders GROUP BY customer ORDER BY s DESC NULLS LAST, customer LIMIT 2

SELECT name FROM customer ORDER BY name COLLATE NOCASE, name

SELECT id FROM orders ORDER BY ALL DESC

-- rows differ
SELECT * FROM orders USING SAMPLE 50%

-- rows differ
SELECT * FROM orders TABLESAMPLE reservoir(3 ROWS) REPEATABLE (7)

-- rows differ
SELECT id + 1 FROM orders TABLESAMPLE bernoulli(50%) WHERE id > 1

-- rows differ
SELECT o.id FROM orders o JOIN customer c USING (id) USING SAMPLE 2 ROWS

-- rows differ
SELECT id FROM orders ORDER BY random() LIMIT 2
