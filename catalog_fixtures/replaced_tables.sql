-- Tables are dropped and made again, replaced, and replaced by a view: same name, another identity.
-- view rows_of_t: SELECT k, v FROM t WHERE v > 1
-- view rows_of_u: SELECT t.k, u.w FROM t JOIN u ON t.k = u.k

CREATE TABLE t (k INTEGER, v INTEGER);
CREATE TABLE u (k INTEGER, w VARCHAR);
INSERT INTO t SELECT i, i FROM range(20) r(i);
INSERT INTO u SELECT i, 'w ' || i FROM range(0, 20, 2) r(i);

CREATE OR REPLACE TABLE t AS SELECT i::INTEGER AS k, (i * 2)::INTEGER AS v FROM range(5, 25) r(i);
INSERT INTO t VALUES (2, 2);
DROP TABLE u;
CREATE TABLE u (k INTEGER, w VARCHAR);
INSERT INTO u VALUES (6, 'six'), (8, 'eight');

-- In one transaction: the name is never missing at a snapshot.
BEGIN;
DROP TABLE t;
CREATE TABLE t (k INTEGER, v INTEGER);
INSERT INTO t SELECT i, 3 FROM range(12) r(i);
COMMIT;
DELETE FROM t WHERE k = 6;

-- The same rows again: another identity all the same.
CREATE OR REPLACE TABLE u AS FROM u;
