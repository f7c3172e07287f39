-- Subqueries, correlated or not.
SELECT * FROM orders WHERE customer IN (SELECT id FROM customer)

SELECT * FROM tiny WHERE a NOT IN (SELECT x FROM small)

SELECT * FROM tiny WHERE a NOT IN (SELECT x FROM small WHERE x IS NOT NULL)

SELECT * FROM tiny WHERE (a, b) IN (SELECT x, y FROM small)

SELECT * FROM tiny WHERE (a, b) NOT IN (SELECT x, y FROM small)

SELECT a, b, (a, b) IN (SELECT x, y FROM small) AS found FROM tiny

SELECT a, row(a, b) IN (SELECT row(x, y) FROM small) AS found FROM tiny

SELECT a, a IN (SELECT x FROM small) AS found, a NOT IN (SELECT x FROM small WHERE FALSE) AS missing FROM tiny

SELECT * FROM tiny WHERE a < ANY (SELECT x FROM small)

SELECT a, a > ALL (SELECT x FROM small) AS above, a >= ALL (SELECT x FROM small WHERE x IS NOT NULL) AS top, a <> ANY (SELECT x FROM small) AS other FROM tiny

SELECT a, CASE WHEN a IN (SELECT x FROM small) THEN 1 ELSE 2 END, a IN (SELECT x FROM small) OR b = 1 FROM tiny

SELECT o.id FROM orders o JOIN customer c ON o.customer = c.id AND o.id IN (SELECT a FROM tiny)

SELECT id, (SELECT max(name) FROM customer) AS top FROM orders

SELECT id, EXISTS (SELECT 1 FROM customer WHERE nation = 9) AS any_nine FROM orders

SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM orders)

SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM tiny)

SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM customer c WHERE c.id = o.customer)

SELECT * FROM tiny t WHERE EXISTS (SELECT 1 FROM small s WHERE t.a < s.x AND t.b <> s.y)

SELECT * FROM tiny t WHERE NOT EXISTS (SELECT 1 FROM small s WHERE t.a = s.x)

SELECT t.a, EXISTS (SELECT 1 FROM small s WHERE s.x = t.a) AS found FROM tiny t

SELECT o.id, (SELECT any_value(c.name ORDER BY c.name) FROM customer c WHERE c.id = o.customer) AS name FROM orders o

SELECT t.a, (SELECT n.name FROM nation n WHERE n.id = t.a) AS name FROM tiny t

SELECT o.id, (SELECT c.name FROM customer c WHERE c.id = o.customer) AS name FROM orders o

SELECT c.id, (SELECT count(*) FROM orders o WHERE o.customer = c.id) AS n FROM customer c

SELECT c.id, (SELECT sum(o.amount) FROM orders o WHERE o.customer = c.id AND o.amount > c.nation) AS total FROM customer c

SELECT * FROM customer c WHERE (SELECT count(*) FROM orders o WHERE o.customer = c.id AND o.id IN (SELECT d.id FROM customer d WHERE d.nation = c.nation)) > 0

SELECT t.a, t.b, t.a IN (SELECT s.x FROM small s WHERE s.y = t.b) AS found FROM tiny t

SELECT t.a, t.b, t.a NOT IN (SELECT s.x FROM small s WHERE s.y >= t.b) AS missing FROM tiny t

SELECT t.a, t.b, t.a > ALL (SELECT s.x FROM small s WHERE s.y = t.b) AS above, t.a = ANY (SELECT s.x FROM small s WHERE s.y < t.b) AS same FROM tiny t

SELECT o.id, x.name FROM orders o, LATERAL (SELECT c.name FROM customer c WHERE c.id = o.customer) x

SELECT o.id, x.name FROM orders o JOIN LATERAL (SELECT c.name, c.nation FROM customer c WHERE c.id < o.id) x ON x.nation = o.customer

SELECT o.id, x.id FROM orders o, LATERAL (SELECT c.id FROM customer c WHERE c.id <= o.id ORDER BY c.id DESC, c.name LIMIT 2) x

SELECT o.id, x.id FROM orders o LEFT JOIN LATERAL (SELECT c.id FROM customer c WHERE c.id < o.id) x ON x.id > o.customer

SELECT o.id, x.n FROM orders o, LATERAL (SELECT count(*) AS n FROM customer c WHERE c.nation = o.customer) x

SELECT o.id, x.k, x.n FROM orders o, LATERAL (SELECT c.nation AS k, count(*) AS n FROM customer c WHERE c.id <= o.id GROUP BY c.nation) x

SELECT t.a, x.v FROM tiny t, LATERAL (SELECT s.x AS v FROM small s WHERE s.x = t.a UNION SELECT t.b) x

SELECT t.a, x.v FROM tiny t, LATERAL (SELECT s.x AS v FROM small s WHERE s.x >= t.a EXCEPT SELECT t.b) x

SELECT t.a, x.v, x.r FROM tiny t, LATERAL (SELECT s.x AS v, row_number() OVER (ORDER BY s.x, s.y) AS r FROM small s WHERE s.x >= t.a) x

SELECT o.id, (SELECT sum(x) FROM unnest([o.id, o.customer]) u(x)) AS total FROM orders o

SELECT o.id, (SELECT count(*) FROM unnest(o.tags) u(t) WHERE t = 'a') AS n FROM orders o

SELECT o.id, z.name FROM orders o, LATERAL (SELECT c.name FROM customer c, unnest(o.tags) u(t) WHERE lower(c.name) > t) z

SELECT t.a FROM tiny t WHERE t.a = (SELECT max(s.x) FROM small s WHERE s.y = (SELECT min(u.b) FROM tiny u WHERE u.a = t.a))

SELECT t.a, (SELECT DISTINCT s.x FROM small s WHERE s.x = t.a) AS x FROM tiny t

SELECT t.a, (SELECT string_agg(s.y, ',' ORDER BY s.y) FROM small s WHERE s.x IS NOT DISTINCT FROM t.a) AS ys FROM tiny t

SELECT t.a, (SELECT t.a + t.b) AS s FROM tiny t

SELECT t.a FROM tiny t WHERE t.a IN (SELECT 1 UNION SELECT t.b)

SELECT c.id FROM customer c WHERE c.id IN (SELECT o.customer FROM orders o WHERE o.placed > c.since) AND c.nation NOT IN (SELECT n.id FROM nation n WHERE n.name = c.name)

WITH x AS (SELECT id, nation FROM customer) SELECT y.id FROM x y, LATERAL (SELECT o.id FROM orders o WHERE o.customer = y.id) z

SELECT t.a, (SELECT max(a) FROM (SELECT s.x + t.a AS a FROM small s WHERE s.y = t.b)) FROM tiny t GROUP BY t.a, t.b
