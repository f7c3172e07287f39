-- Unnest, table functions, constants.
SELECT id, unnest(tags) AS tag FROM orders

SELECT id, unnest(tags) AS tag, unnest([1, 2]) AS n FROM orders

SELECT id, unnest(tags) || '!' AS tag FROM orders WHERE id < 5

SELECT unnest(detail) FROM orders

SELECT unnest([{'a': 1, 'b': [2]}, {'a': 3, 'b': NULL}], recursive := true)

SELECT unnest([1, 2, 3]) AS n

SELECT o.id, u.tag FROM orders o, unnest(o.tags) u(tag)

SELECT o.id, u.tag FROM orders o CROSS JOIN unnest(o.tags) u(tag) WHERE u.tag <> 'a'

SELECT o.id, u.tag FROM orders o LEFT JOIN unnest(o.tags) u(tag) ON TRUE

SELECT o.id, x.tag FROM orders o, LATERAL (SELECT unnest(o.tags) AS tag) x WHERE x.tag > 'a'

SELECT o.id, x.tag FROM orders o, LATERAL (SELECT tag || o.note AS tag FROM unnest(o.tags) u(tag) WHERE tag <> 'b') x

SELECT c.id, r.n FROM customer c, range(c.id) r(n)

SELECT o.id, r.n FROM orders o, generate_series(o.id, o.customer, -2) r(n) WHERE r.n > 1

SELECT o.id, r.n, s.m FROM orders o, range(o.id) r(n), range(r.n) s(m) WHERE o.id < 4

SELECT * FROM range(3)

SELECT * FROM generate_series(1, 10, 3) s(n)

SELECT * FROM range(TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-03', INTERVAL 12 HOUR)

SELECT * FROM unnest([1, 2]) u(n)

SELECT * FROM unnest([{'a': 1}]) u(s)

SELECT r.range, o.id FROM range(3) r JOIN orders o ON o.id = r.range

SELECT * FROM repeat('x', 2)

SELECT k.key, k.value FROM every_type e, json_each(e.doc) k

SELECT * FROM (VALUES (1, 'a'), (2, NULL)) v(n, t)

VALUES (1, 2.5), (3, 4)

SELECT v.n, o.id FROM (VALUES (1), (2)) v(n) JOIN orders o ON o.id = v.n

SELECT o.id, v.x FROM orders o, LATERAL (VALUES (o.id), (o.customer + 1)) v(x)

SELECT o.id, w.i FROM orders o, LATERAL (SELECT i FROM range(3) r(i) WHERE r.i < o.id) w

SELECT q.tag, count(*) FROM (SELECT unnest(tags) AS tag FROM orders) q GROUP BY q.tag

SELECT id, list(tag ORDER BY tag) FROM (SELECT id, unnest(tags) AS tag FROM orders) GROUP BY id

SELECT table_name FROM duckdb_tables() WHERE database_name = 'memory' AND schema_name = 'main'

SELECT count(*) FROM orders o, unnest(o.tags) WITH ORDINALITY u(tag, n)

-- rows differ
SELECT count(*) FROM glob('/dev/null')

SELECT e.key, u.x FROM every_type t, unnest(map_entries(t.dict)) m(e), unnest(t.list) u(x)
