-- CTEs.
WITH x AS (SELECT id FROM customer) SELECT * FROM x

WITH x AS (SELECT id FROM customer WHERE nation = 1) SELECT a.id, b.id FROM x a JOIN x b USING (id)

WITH x AS MATERIALIZED (SELECT id, name FROM customer) SELECT a.id FROM x a, x b WHERE a.id = b.id

WITH x AS NOT MATERIALIZED (SELECT id, name FROM customer) SELECT a.id FROM x a, x b WHERE a.id = b.id

WITH x(q) AS (SELECT id FROM customer), y AS (SELECT q + 1 AS r FROM x) SELECT y.r, x.q FROM y JOIN x ON y.r = x.q

WITH x AS (SELECT id FROM customer) SELECT * FROM orders WHERE customer IN (SELECT id FROM x)

WITH orders AS (SELECT 1 AS id) SELECT * FROM orders

SELECT * FROM (WITH x AS (SELECT id FROM customer) SELECT * FROM x) q JOIN (WITH x AS (SELECT id FROM orders) SELECT * FROM x) r USING (id)

WITH x AS (SELECT customer, count(*) AS n FROM orders GROUP BY customer) SELECT max(n) FROM x UNION ALL SELECT min(n) FROM x

WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r

WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n * 2) % 7 FROM r) SELECT * FROM r

WITH RECURSIVE r(id, depth) AS (SELECT id, 0 FROM customer WHERE id = 1 UNION ALL SELECT o.id, r.depth + 1 FROM r JOIN orders o ON o.customer = r.id WHERE r.depth < 3) SELECT id, max(depth) FROM r GROUP BY id

WITH RECURSIVE r(n, m) USING KEY (n) AS (SELECT 1, 10 UNION SELECT n + 1, m - 1 FROM r WHERE n < 4) SELECT * FROM r

WITH RECURSIVE r(n, m) USING KEY (n) AS (SELECT 1, 2 UNION SELECT rr.n + 1, r.m FROM r JOIN recurring.r rr ON rr.n = r.n WHERE r.n < 5) SELECT * FROM r

WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT a.n, b.n FROM r a, r b

WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL (WITH s AS (SELECT n + 1 AS m FROM r) SELECT m FROM s WHERE m < 4)) SELECT * FROM r
