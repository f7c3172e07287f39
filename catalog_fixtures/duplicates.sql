-- Bags: equal rows many times over, of which some but not all are deleted.
-- view names: SELECT name FROM t
-- view products: SELECT a.name, b.name AS other FROM t a CROSS JOIN t b
-- view both: SELECT name FROM t UNION ALL SELECT name FROM u

CREATE TABLE t (id INTEGER, name VARCHAR);
CREATE TABLE u (name VARCHAR);
INSERT INTO t SELECT i, CASE WHEN i % 4 = 0 THEN NULL ELSE 'name ' || (i % 3) END FROM range(24) r(i);
INSERT INTO u SELECT 'name 1' FROM range(12);

DELETE FROM t WHERE id < 5;
INSERT INTO t SELECT i, 'name 1' FROM range(100, 115) r(i);
UPDATE t SET name = 'name 2' WHERE id BETWEEN 103 AND 106;
DELETE FROM t WHERE id IN (7, 8, 9, 110);
DELETE FROM u;
INSERT INTO u VALUES ('name 2'), ('name 2'), (NULL), (NULL);

BEGIN;
DELETE FROM t WHERE id = 11;
INSERT INTO t VALUES (11, 'name 0'), (11, 'name 0');
INSERT INTO u VALUES ('name 0');
COMMIT;
