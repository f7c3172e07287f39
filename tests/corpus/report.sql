-- Reports as people write them: several operators each.
SELECT n.name, count(*) AS orders, sum(o.amount) AS revenue FROM orders o JOIN customer c ON o.customer = c.id JOIN nation n ON c.nation = n.id GROUP BY n.name

SELECT n.name, count(DISTINCT c.id) AS customers FROM nation n LEFT JOIN customer c ON c.nation = n.id GROUP BY n.name HAVING count(*) > 0

SELECT date_trunc('month', placed) AS month, sum(amount) AS revenue, count(*) FILTER (WHERE note = 'rush') AS rushed FROM orders GROUP BY month

SELECT c.id, c.name, coalesce(sum(o.amount), 0) AS total FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name

SELECT customer, max(placed) AS latest, min(placed) AS first_seen, max(placed) - min(placed) AS days FROM orders GROUP BY customer

SELECT customer, sum(amount) AS total FROM orders GROUP BY customer HAVING sum(amount) > (SELECT avg(amount) FROM orders)

SELECT placed, sum(amount) AS day_total, sum(sum(amount)) OVER (ORDER BY placed) AS running FROM orders GROUP BY placed

SELECT customer, amount, amount / sum(amount) OVER (PARTITION BY customer) AS share FROM orders WHERE amount > 0

SELECT customer, total, rank() OVER (ORDER BY total DESC) AS place FROM (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer)

SELECT c.name, t.total FROM customer c JOIN (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer) t ON t.customer = c.id

SELECT c.name, t.total FROM customer c LEFT JOIN (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer) t ON t.customer = c.id WHERE t.total IS NULL OR t.total > 5

SELECT c.id FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.placed > '2021-01-31')

SELECT c.id, c.name FROM customer c WHERE c.id IN (SELECT customer FROM orders WHERE amount > 10) OR c.nation = 1

SELECT c.id FROM customer c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id) OR c.name IS NULL

SELECT c.id FROM customer c WHERE c.id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL) OR c.since > '2020-12-31'

SELECT o.id FROM orders o WHERE o.amount >= ALL (SELECT p.amount FROM orders p WHERE p.customer = o.customer AND p.amount IS NOT NULL)

SELECT o.id, o.amount > (SELECT avg(p.amount) FROM orders p WHERE p.customer = o.customer) AS above FROM orders o

SELECT c.id, (SELECT max(o.placed) FROM orders o WHERE o.customer = c.id) AS latest, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS n FROM customer c

SELECT c.id, (SELECT o.id FROM orders o WHERE o.customer = c.id ORDER BY o.id DESC, o.placed LIMIT 1) AS latest FROM customer c

SELECT c.id, l.id AS latest, l.amount FROM customer c, LATERAL (SELECT o.id, o.amount FROM orders o WHERE o.customer = c.id ORDER BY o.id DESC, o.amount LIMIT 1) l

SELECT c.id, l.total FROM customer c LEFT JOIN LATERAL (SELECT sum(o.amount) AS total FROM orders o WHERE o.customer = c.id) l ON true

SELECT id, customer, amount FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC, id) <= 2

SELECT customer, id, amount FROM orders QUALIFY rank() OVER (PARTITION BY customer ORDER BY amount DESC NULLS LAST) = 1

SELECT id, amount - lag(amount) OVER (PARTITION BY customer ORDER BY id, amount) AS change FROM (SELECT DISTINCT id, customer, amount FROM orders)

SELECT customer, count(*) AS n FROM orders GROUP BY customer ORDER BY n DESC, customer LIMIT 3

SELECT c.name, sum(o.amount) AS total FROM orders o JOIN customer c ON c.id = o.customer GROUP BY c.name ORDER BY total DESC NULLS LAST, c.name LIMIT 2

SELECT id, amount FROM orders ORDER BY amount DESC NULLS LAST, id LIMIT 3

SELECT id, amount FROM orders ORDER BY amount DESC NULLS LAST, id LIMIT 3 OFFSET 2

SELECT DISTINCT ON (customer) customer, id, placed FROM orders ORDER BY customer, placed DESC NULLS LAST, id

SELECT DISTINCT c.nation, o.note FROM orders o JOIN customer c ON o.customer = c.id

SELECT id FROM customer EXCEPT SELECT customer FROM orders WHERE amount > 5

SELECT nation FROM customer INTERSECT SELECT id FROM nation WHERE name IS NOT NULL

SELECT id, name FROM customer UNION SELECT id, name FROM nation

SELECT 'customer' AS kind, count(*) AS n FROM customer UNION ALL SELECT 'order', count(*) FROM orders

SELECT nation, name, count(*) AS n, grouping(nation, name) AS level FROM customer GROUP BY ROLLUP (nation, name)

SELECT nation, since, count(*) AS n FROM customer GROUP BY CUBE (nation, since)

SELECT customer, note, sum(amount) AS s FROM orders GROUP BY GROUPING SETS ((customer), (note), ())

SELECT p.product, p.valid, o.id FROM orders o ASOF JOIN price p ON o.customer = p.product AND o.placed >= p.valid

SELECT o.id, o.placed, p.value FROM orders o ASOF LEFT JOIN price p ON o.customer = p.product AND o.placed >= p.valid

SELECT o.id, p.value * o.amount AS worth FROM orders o LEFT JOIN price p ON p.product = o.customer AND p.valid = (SELECT max(q.valid) FROM price q WHERE q.product = o.customer AND q.valid <= o.placed)

WITH totals AS (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer), ranked AS (SELECT *, dense_rank() OVER (ORDER BY total DESC) AS place FROM totals) SELECT c.name, r.total, r.place FROM ranked r JOIN customer c ON c.id = r.customer

WITH recent AS (SELECT * FROM orders WHERE placed >= '2021-01-01') SELECT c.nation, count(*) FROM recent r JOIN customer c ON c.id = r.customer GROUP BY c.nation

WITH RECURSIVE chain(id, depth) AS (SELECT a, 0 FROM tiny WHERE a IS NOT NULL UNION SELECT s.y, depth + 1 FROM chain JOIN small s ON s.x = chain.id WHERE depth < 4) SELECT * FROM chain

SELECT u.tag, count(*) AS n, sum(o.amount) AS total FROM orders o, unnest(o.tags) u(tag) GROUP BY u.tag

SELECT DISTINCT u.tag FROM orders o, unnest(o.tags) u(tag) WHERE o.amount > 0

SELECT o.detail.kind AS kind, count(*) AS n FROM orders o GROUP BY kind

SELECT span, count(*) AS n FROM every_type GROUP BY span

SELECT f64, count(*) AS n FROM every_type GROUP BY f64

SELECT nested, count(*) AS n FROM every_type GROUP BY nested

SELECT CASE WHEN amount > 10 THEN 'large' WHEN amount > 0 THEN 'small' ELSE 'none' END AS size, count(*) AS n, avg(amount) AS mean FROM orders GROUP BY size

SELECT customer, bool_or(note = 'rush') AS any_rush, bool_and(amount > 0) AS all_paid FROM orders GROUP BY customer

SELECT customer, any_value(note ORDER BY note) AS one_note, arg_max(id, amount ORDER BY id) AS best FROM orders GROUP BY customer

SELECT customer, median(amount) AS middle, mode(note ORDER BY note) AS usual, quantile_cont(amount, 0.9) AS p90 FROM orders GROUP BY customer

SELECT customer, list(DISTINCT note ORDER BY note) AS notes, string_agg(note, ', ' ORDER BY note) AS text FROM orders GROUP BY customer

SELECT customer, first(id ORDER BY placed, id) AS first_order, last(id ORDER BY placed, id) AS last_order FROM orders GROUP BY customer

SELECT count(*) AS n, count(DISTINCT customer) AS customers, sum(amount) AS total FROM orders

SELECT max(amount) AS top, min(placed) AS since FROM orders WHERE note IS NOT NULL

SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM customer) AS customers

SELECT a.id, b.id AS other FROM customer a JOIN customer b ON a.nation = b.nation AND a.id <> b.id

SELECT o.id, c.name, n.name AS nation FROM orders o LEFT JOIN customer c ON c.id = o.customer LEFT JOIN nation n ON n.id = c.nation

SELECT coalesce(c.id, o.customer) AS id, c.name, o.id AS order_id FROM customer c FULL JOIN orders o ON o.customer = c.id

SELECT n.name, c.name, o.id FROM nation n LEFT JOIN customer c ON c.nation = n.id LEFT JOIN orders o ON o.customer = c.id AND o.amount > 5

SELECT c.nation, sum(t.total) AS total, max(t.n) AS busiest FROM customer c JOIN (SELECT customer, sum(amount) AS total, count(*) AS n FROM orders GROUP BY customer) t ON t.customer = c.id GROUP BY c.nation

SELECT nation, avg(n) AS mean FROM (SELECT c.nation, c.id, count(o.id) AS n FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.nation, c.id) GROUP BY nation

SELECT count(*) AS n FROM (SELECT customer FROM orders GROUP BY customer HAVING count(*) > 1)

SELECT t.a, t.b, count(*) OVER (PARTITION BY t.a) AS by_a, count(*) OVER (PARTITION BY t.b) AS by_b FROM tiny t

SELECT id, count(*) OVER (PARTITION BY customer) AS n, sum(amount) OVER (PARTITION BY customer, note) AS s FROM orders

SELECT id, sum(amount) OVER () AS total, amount FROM orders

SELECT t.a FROM tiny t WHERE (t.a, t.b) IN (SELECT x, y FROM small) OR t.b IS NULL

SELECT t.a, CASE WHEN t.a IN (SELECT x FROM small) THEN 'known' WHEN EXISTS (SELECT 1 FROM small s WHERE s.y = t.b) THEN 'seen' ELSE 'new' END AS state FROM tiny t

SELECT * FROM (SELECT customer, note, amount FROM orders) PIVOT (sum(amount) AS total FOR note IN ('rush', 'slow') GROUP BY customer)

SELECT kind, count(*) AS n FROM (SELECT * FROM customer UNPIVOT (v FOR kind IN (id, nation))) GROUP BY kind

SELECT r.id, c.name FROM rush_orders r JOIN customer c ON c.id = r.customer

SELECT id, twice(amount) AS doubled FROM orders_of(2)

SELECT o.id, d.day FROM orders o, (SELECT unnest(generate_series(DATE '2021-01-01', DATE '2021-01-03', INTERVAL 1 DAY))::DATE AS day) d WHERE o.placed <= d.day

SELECT d.day, coalesce(sum(o.amount), 0) AS total FROM (SELECT range::DATE AS day FROM range(DATE '2021-01-01', DATE '2021-01-05', INTERVAL 1 DAY)) d LEFT JOIN orders o ON o.placed = d.day GROUP BY d.day

SELECT q.id, q.n FROM (SELECT customer AS id, count(*) AS n FROM orders GROUP BY customer) q SEMI JOIN customer c ON c.id = q.id

SELECT customer, id FROM orders o ANTI JOIN customer c ON c.id = o.customer

SELECT id FROM (SELECT id, customer, amount FROM orders ORDER BY amount DESC NULLS LAST, id, customer LIMIT 5) t WHERE customer IN (SELECT id FROM customer)

SELECT name FROM customer WHERE nation = (SELECT id FROM nation WHERE name = 'Peru')

SELECT c.id, x.id FROM customer c CROSS JOIN LATERAL (SELECT o.id FROM orders o WHERE o.customer = c.id UNION SELECT -1) x
