-- Joins of every kind.
SELECT o.id, c.name FROM orders o JOIN customer c ON o.customer = c.id

SELECT o.id, c.name FROM orders o, customer c WHERE o.customer = c.id AND c.nation = 1

SELECT * FROM orders JOIN customer USING (id)

SELECT * FROM orders NATURAL JOIN customer

SELECT a.id, b.id FROM customer a CROSS JOIN customer b

SELECT a.id, b.id FROM customer a JOIN customer b ON a.nation = b.nation AND a.id < b.id

SELECT o.id, c.name, n.name FROM orders o JOIN customer c ON o.customer = c.id JOIN nation n ON c.nation = n.id WHERE o.amount > 1

SELECT o.id, q.who FROM orders o JOIN (SELECT c.id, c.name || n.name AS who FROM customer c JOIN nation n ON c.nation = n.id) q ON o.customer = q.id

SELECT o.id, q.id FROM orders o JOIN (SELECT c.id FROM customer c, nation n WHERE c.nation = n.id) q ON o.customer = q.id OR q.id IS NULL

SELECT o.id, c.name FROM orders o LEFT JOIN customer c ON o.customer = c.id

SELECT o.id, c.name FROM orders o LEFT JOIN customer c ON o.customer = c.id AND o.amount > 3 AND c.nation = 2

SELECT o.id, c.name FROM orders o LEFT JOIN customer c ON o.customer = c.id WHERE c.id IS NULL

SELECT o.id, c.name, n.name FROM orders o LEFT JOIN customer c ON o.customer = c.id LEFT JOIN nation n ON c.nation = n.id WHERE o.id > 1

SELECT o.id, q.name FROM orders o LEFT JOIN (customer c JOIN nation n ON c.nation = n.id) q(cid, cname, nid, since, nnid, name) ON o.customer = q.cid

SELECT o.id, c.name FROM orders o RIGHT JOIN customer c ON o.customer = c.id

SELECT o.id, c.name FROM (SELECT * FROM orders WHERE amount > 5) o RIGHT JOIN customer c ON o.customer = c.id

SELECT o.id, c.name FROM orders o FULL JOIN customer c ON o.customer = c.id

SELECT o.id, c.name FROM orders o FULL JOIN customer c ON o.customer < c.id

SELECT t.a, s.x FROM tiny t FULL JOIN small s ON t.a = s.x AND t.b < s.y

SELECT t.a, s.x, u.a FROM tiny t JOIN small s ON t.a = s.x RIGHT JOIN tiny u ON u.b = s.y

SELECT t.a, s.x FROM tiny t LEFT JOIN small s ON TRUE

SELECT t.a, s.x FROM tiny t LEFT JOIN small s ON t.a = 1

SELECT t.a, s.x FROM tiny t LEFT JOIN small s ON t.a = s.x OR t.b = s.y

SELECT t.a, s.x FROM tiny t JOIN small s ON t.a IS NOT DISTINCT FROM s.x

SELECT t.a, s.x FROM tiny t JOIN small s ON t.a <> s.x AND t.b + s.y > 2

SELECT * FROM tiny t SEMI JOIN small s ON t.a = s.x

SELECT * FROM tiny t ANTI JOIN small s ON t.a = s.x

SELECT * FROM tiny t ANTI JOIN small s ON t.b >= s.y AND s.x IS NULL

SELECT * FROM tiny t SEMI JOIN small s ON t.a < s.x AND t.b <> s.y AND s.x > 1

SELECT * FROM tiny t SEMI JOIN small s ON t.a < s.x OR t.b = s.y

SELECT t.a, s.x FROM tiny t SEMI JOIN small u ON t.a = u.x JOIN small s ON t.a = s.x

SELECT p.product, p.value, q.value FROM price p ASOF JOIN price q ON p.product = q.product AND p.valid > q.valid

SELECT p.product, p.value, q.value FROM price p ASOF LEFT JOIN price q ON p.product = q.product AND p.valid >= q.valid

SELECT p.product, q.value FROM price p ASOF RIGHT JOIN price q ON p.product = q.product AND p.valid > q.valid

SELECT p.product, q.value FROM price p ASOF FULL JOIN price q ON p.product = q.product AND p.valid > q.valid

SELECT o.id, p.value FROM (SELECT * FROM orders WHERE id < 6) o ASOF JOIN price p ON o.customer = p.product AND o.placed < p.valid

SELECT a.word, b.word FROM memory.main.plain a POSITIONAL JOIN memory.main.collated b

SELECT a.id, b.word FROM (SELECT id FROM customer) a POSITIONAL JOIN memory.main.plain b

SELECT t1.a FROM tiny t1, tiny t2, tiny t3, tiny t4 WHERE t1.a = t2.a AND t2.b = t3.b AND t3.a = t4.b AND t1.b = t4.a

SELECT o.id FROM orders o JOIN customer c ON o.customer = c.id AND upper(c.name) = 'ADA' JOIN nation n ON n.id = c.nation AND n.id = o.customer

SELECT count(*) FROM orders a JOIN orders b ON a.id = b.id JOIN orders c ON b.id = c.id JOIN orders d ON c.id = d.id JOIN orders e ON d.id = e.id JOIN orders f ON e.id = f.id

SELECT o.id, x.one FROM orders o, (SELECT 1 AS one) x

SELECT x.one, o.id FROM (SELECT 1 AS one) x LEFT JOIN orders o ON o.id = x.one

SELECT a.name COLLATE NOCASE, b.id FROM customer a JOIN customer b ON a.name COLLATE NOCASE = b.name
