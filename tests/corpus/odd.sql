-- Unusual compositions, three operators deep and more. `tests/sync_corpus.rs` plays all of them through changes.
SELECT coalesce(o.customer, c.id) AS k, count(*) AS n, max(r) AS top FROM (SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY id, amount) AS r FROM (SELECT DISTINCT id, customer, amount FROM orders)) o FULL JOIN customer c ON o.customer = c.id GROUP BY ALL

SELECT k, sum(n) OVER (PARTITION BY nation) AS in_nation FROM (SELECT c.id AS k, c.nation, count(o.id) AS n FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.amount > 1 GROUP BY c.id, c.nation) q

SELECT a FROM tiny WHERE a NOT IN (SELECT rank() OVER (PARTITION BY y ORDER BY x) FROM small)

SELECT a FROM tiny WHERE a NOT IN (SELECT max(x) OVER (PARTITION BY y) FROM small WHERE x IS NOT NULL)

SELECT customer, count(*) AS n FROM orders GROUP BY customer EXCEPT ALL SELECT nation, count(*) FROM customer GROUP BY nation

SELECT placed FROM orders INTERSECT ALL (SELECT since FROM customer UNION ALL SELECT placed FROM orders WHERE amount > 5)

SELECT c.nation, count(*) FROM customer c GROUP BY c.nation HAVING EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.nation AND o.amount IS NOT NULL)

SELECT c.nation, count(*) AS n FROM customer c GROUP BY c.nation HAVING count(*) > (SELECT count(*) FROM small s WHERE s.x = c.nation)

SELECT c.nation, sum(c.id) AS s FROM customer c GROUP BY c.nation HAVING sum(c.id) NOT IN (SELECT o.id FROM orders o WHERE o.customer IS NOT DISTINCT FROM c.nation)

SELECT n.name, x.id, t.b FROM (nation n LEFT JOIN LATERAL (SELECT c.id FROM customer c WHERE c.nation = n.id ORDER BY c.id DESC, c.name, c.since LIMIT 1) x ON TRUE) FULL JOIN tiny t ON t.a = x.id

(SELECT a FROM tiny EXCEPT SELECT x FROM small) UNION ALL (SELECT x FROM small INTERSECT (SELECT a FROM tiny UNION SELECT b FROM tiny))

((SELECT a, b FROM tiny UNION SELECT x, y FROM small) EXCEPT (SELECT x, y FROM small INTERSECT ALL SELECT a, b FROM tiny)) INTERSECT SELECT a, b FROM tiny

SELECT product, valid, a, note FROM (SELECT p.product, p.valid, o.id AS a, o.note FROM price p ASOF JOIN (SELECT DISTINCT id, customer, placed, note FROM orders) o ON p.product = o.customer AND p.valid >= o.placed) QUALIFY row_number() OVER (PARTITION BY product ORDER BY valid, a) = 1

SELECT o.id, o.customer, p.value FROM (SELECT DISTINCT id, customer, placed FROM orders WHERE placed IS NOT NULL) o ASOF LEFT JOIN (SELECT product, valid, value FROM price WHERE value IS NOT NULL) p ON p.product = o.customer AND p.valid <= o.placed WHERE o.id IN (SELECT a FROM tiny UNION ALL SELECT x FROM small)

FROM (PIVOT (SELECT c.nation, o.note, o.amount FROM orders o JOIN customer c ON o.customer = c.id) ON note IN ('rush', 'slow') USING sum(amount) AS s, count(*) AS n GROUP BY nation)

FROM (UNPIVOT (SELECT customer, count(*) AS n, max(id) AS m FROM orders GROUP BY customer) ON n, m INTO NAME what VALUE v)

SELECT a, a IN (SELECT x FROM small) AS one, b IN (SELECT y FROM small WHERE x > 1) AS other, (a, b) IN (SELECT x, y FROM small) AS both_in FROM tiny

SELECT a, a IN (1, NULL, 3), a NOT IN (1, NULL), b IN (SELECT NULL::INTEGER FROM small) FROM tiny

SELECT a FROM tiny WHERE a > ALL (SELECT x FROM small WHERE y IS NOT NULL)

SELECT a, b, b <= ALL (SELECT y FROM small s WHERE s.x = t.a) AS least, a <> ALL (SELECT x FROM small) AS other FROM tiny t

SELECT nation, a > ALL (SELECT count(*) FROM customer c WHERE c.nation = q.nation GROUP BY c.name) AS above FROM (SELECT c.nation, t.a FROM customer c LEFT JOIN tiny t ON t.b = c.nation) q

SELECT t.a, (SELECT n.name FROM nation n WHERE n.id = (SELECT min(c.nation) FROM customer c WHERE c.id = t.a)) AS name FROM tiny t

SELECT (SELECT count(*) FROM orders) AS n, (SELECT max(a) FROM tiny) AS m, c.id FROM customer c WHERE c.id < (SELECT count(*) FROM small)

SELECT o.id, rank() OVER (PARTITION BY c.nation ORDER BY o.amount) AS r, count(*) OVER (PARTITION BY o.note) AS n FROM orders o LEFT JOIN customer c ON c.id = o.customer

SELECT nation, max(r) AS deepest FROM (SELECT c.nation, dense_rank() OVER (PARTITION BY c.nation ORDER BY o.placed) AS r FROM customer c JOIN orders o ON o.customer = c.id) GROUP BY nation HAVING max(r) > 1

SELECT DISTINCT ON (c.nation) c.nation, q.n, c.id FROM customer c JOIN (SELECT customer, count(*) AS n FROM orders GROUP BY customer) q ON q.customer = c.id ORDER BY c.nation, q.n DESC, c.id

SELECT nation, id, total FROM (SELECT c.nation, c.id, sum(o.amount) AS total FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.nation, c.id) QUALIFY rank() OVER (PARTITION BY nation ORDER BY total DESC NULLS LAST) = 1

SELECT a.customer, b.customer AS other FROM (SELECT DISTINCT customer FROM orders) a LEFT JOIN (SELECT DISTINCT customer FROM orders WHERE amount > 5) b ON a.customer < b.customer WHERE b.customer IS NULL OR a.customer > 0

SELECT x.k, count(y.k) AS n FROM (SELECT id AS k FROM customer UNION SELECT customer FROM orders) x LEFT JOIN (SELECT a AS k FROM tiny EXCEPT ALL SELECT x FROM small) y ON x.k IS NOT DISTINCT FROM y.k GROUP BY x.k

SELECT c.id, l.tag, l.n FROM customer c LEFT JOIN LATERAL (SELECT u.tag, count(*) AS n FROM orders o, unnest(o.tags) u(tag) WHERE o.customer = c.id GROUP BY u.tag) l ON TRUE

SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM customer c WHERE c.id = o.customer AND NOT EXISTS (SELECT 1 FROM nation n WHERE n.id = c.nation AND n.name IS NOT NULL))

SELECT o.id, EXISTS (SELECT 1 FROM customer c WHERE c.id = o.customer) OR o.amount > (SELECT avg(amount) FROM orders) AS known FROM orders o

SELECT t.a, s.x, u.x AS z FROM tiny t FULL JOIN small s ON t.a = s.x FULL JOIN small u ON u.y = s.y AND t.b IS NOT NULL

SELECT t.a, count(DISTINCT s.x) AS n, count(*) FILTER (WHERE s.y IS NULL) AS nulls FROM tiny t RIGHT JOIN small s ON t.a >= s.x GROUP BY ROLLUP (t.a)

SELECT g.customer, g.placed, g.n, c.name FROM (SELECT customer, placed, count(*) AS n, grouping(customer, placed) AS level FROM orders GROUP BY CUBE (customer, placed)) g LEFT JOIN customer c ON c.id = g.customer WHERE g.level < 3

SELECT q.nation, (SELECT string_agg(DISTINCT c.name, ',' ORDER BY c.name) FROM customer c WHERE c.nation IS NOT DISTINCT FROM q.nation) AS names FROM (SELECT nation FROM customer GROUP BY nation HAVING count(*) > 1) q

SELECT id, n FROM (SELECT c.id, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS n FROM customer c) WHERE n = (SELECT max(k) FROM (SELECT count(*) AS k FROM orders GROUP BY customer))

SELECT name, top FROM nation n, LATERAL (SELECT c.name AS top FROM customer c WHERE c.nation = n.id AND c.id = (SELECT min(d.id) FROM customer d WHERE d.nation = n.id)) x

WITH RECURSIVE up(a, b, depth) AS (SELECT a, b, 0 FROM tiny WHERE a IS NOT NULL UNION SELECT s.x, s.y, depth + 1 FROM up JOIN small s ON s.x = up.b WHERE depth < 3) SELECT depth, count(*) AS n FROM up GROUP BY depth

WITH RECURSIVE reach(id) AS (SELECT id FROM customer WHERE nation = 1 UNION SELECT o.id FROM orders o JOIN reach r ON o.customer = r.id) SELECT n.name, r.id FROM reach r LEFT JOIN nation n USING (id)

SELECT customer, list(id ORDER BY id) AS ids, mode(customer) AS usual FROM (SELECT DISTINCT customer, id, note FROM orders) WHERE customer IN (SELECT id FROM customer WHERE nation IN (SELECT id FROM nation WHERE name LIKE '%r%')) GROUP BY customer

SELECT a.x, b.cnt FROM (SELECT x FROM small ORDER BY x DESC NULLS LAST, y LIMIT 3) a LEFT JOIN (SELECT a AS x, count(*) AS cnt FROM tiny GROUP BY a) b USING (x)

SELECT x, y, lag(x) OVER (PARTITION BY y ORDER BY x) AS before FROM (SELECT x, y FROM small UNION SELECT a, b FROM tiny) WHERE x IS NOT NULL

SELECT c.name, sum(CASE WHEN o.id IN (SELECT a FROM tiny) THEN o.amount END) AS s FROM customer c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.name

SELECT o.customer, avg(o.amount) FILTER (WHERE o.placed > (SELECT min(since) FROM customer)) AS late FROM orders o GROUP BY o.customer

-- only by name
SELECT s.x, t.a FROM small s LEFT JOIN tiny t ON t.a = s.x AND t.b IN (SELECT y FROM small)

SELECT nation, id FROM customer c WHERE id >= ANY (SELECT d.id FROM customer d WHERE d.nation = c.nation AND d.since IS NOT NULL) AND nation IN (SELECT nation FROM customer GROUP BY nation HAVING count(*) < 3)

SELECT coalesce(l.k, r.k) AS k, l.n AS ordered, r.n AS listed FROM (SELECT customer AS k, count(*) AS n FROM orders GROUP BY customer) l FULL JOIN (SELECT nation AS k, count(*) AS n FROM customer GROUP BY nation) r ON l.k = r.k WHERE l.n IS DISTINCT FROM r.n

-- only by name
SELECT id, amount FROM (SELECT DISTINCT id, amount FROM orders) ORDER BY id, amount LIMIT (SELECT count(*) FROM tiny WHERE b > 1) OFFSET (SELECT min(a) FROM tiny)

-- only by name
SELECT id, customer FROM (SELECT DISTINCT id, customer, amount FROM orders) ORDER BY amount DESC NULLS LAST, id, customer LIMIT (SELECT 20 * count(*) FROM small WHERE x = 2)%

SELECT q.id, c.name FROM (SELECT id, customer, amount FROM orders ORDER BY amount DESC NULLS LAST, id, customer LIMIT 5) q JOIN customer c ON c.id = q.customer

SELECT o.id, u.tag, u.n FROM orders o, unnest(o.tags) WITH ORDINALITY u(tag, n) WHERE u.n < 3

SELECT o.id, u.tag, c.name FROM orders o LEFT JOIN unnest(o.tags) u(tag) ON TRUE LEFT JOIN customer c ON c.id = o.customer

SELECT o.id, (SELECT count(*) FROM unnest(o.tags) u(t) WHERE t > 'a') AS n, (SELECT max(c.name) FROM customer c, unnest(o.tags) u(t) WHERE lower(c.name) > t) AS top FROM orders o

-- only by name
SELECT id, string_agg(note, '-') OVER (ORDER BY id, amount, note ROWS 1 PRECEDING) AS notes FROM (SELECT DISTINCT id, amount, note FROM orders) WHERE id IN (SELECT a FROM tiny)

SELECT median(o.amount) AS middle, string_agg(DISTINCT c.name, ',' ORDER BY c.name) AS names FROM orders o LEFT JOIN customer c ON c.id = o.customer
