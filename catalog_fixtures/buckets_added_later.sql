-- bucket() partitioning is added when there are rows already: reads by key then overlook the older files in DuckDB 1.5.5.
-- view joined: SELECT t.k, t.v, d.name FROM t JOIN d ON t.k = d.k
-- view eight: SELECT v FROM t WHERE k = 8

CREATE TABLE t (k INTEGER, v INTEGER);
CREATE TABLE d (k INTEGER, name VARCHAR);
INSERT INTO t SELECT i, i FROM range(12) r(i);
INSERT INTO d VALUES (1, 'one');
ALTER TABLE t SET PARTITIONED BY (bucket(3, k));
INSERT INTO d VALUES (8, 'eight');
INSERT INTO t SELECT i, i FROM range(12, 24) r(i);
INSERT INTO d VALUES (15, 'fifteen'), (3, 'three');
DELETE FROM d WHERE k = 1;
INSERT INTO t VALUES (8, 88);
