-- Rows that change again and again: the same rows updated, deleted and inserted anew, several times in one transaction.
-- view positive: SELECT k, v FROM t WHERE v > 0
-- view pairs: SELECT a.k, a.v AS one, b.v AS other FROM t a JOIN t b ON a.k = b.k

CREATE TABLE t (k INTEGER, v INTEGER);
INSERT INTO t SELECT i % 10, i FROM range(30) r(i);

UPDATE t SET v = v + 1 WHERE k = 2;
UPDATE t SET v = v + 1 WHERE k IN (2, 3);
UPDATE t SET v = v;
UPDATE t SET v = v - 1 WHERE k = 2;

-- Two statements that touch the same rows.
BEGIN;
UPDATE t SET v = v + 100 WHERE k IN (2, 7);
UPDATE t SET v = v + 100 WHERE k IN (2, 6);
COMMIT;

-- Rows that come and go within a transaction.
BEGIN;
INSERT INTO t SELECT 20 + i, i FROM range(20) r(i);
DELETE FROM t WHERE k BETWEEN 25 AND 30;
UPDATE t SET v = -v WHERE k > 30;
COMMIT;

-- Deleted and inserted with the same content: no net change.
BEGIN;
DELETE FROM t WHERE k = 4;
INSERT INTO t SELECT 4, 4 + 10 * i FROM range(3) r(i);
COMMIT;

-- Key updates: rows move from one key to another.
UPDATE t SET k = k + 1 WHERE k % 2 = 0;
UPDATE t SET k = NULL WHERE k = 7;
UPDATE t SET v = NULL WHERE k IS NULL;
DELETE FROM t WHERE k IS NULL AND v IS NULL;

BEGIN;
DELETE FROM t WHERE k = 1;
DELETE FROM t;
COMMIT;

INSERT INTO t SELECT i % 3, i FROM range(15) r(i);
