-- Everything is small enough to stay in the catalog: inlined inserts, updates of inlined rows, inlined deletes of file rows.
-- view even: SELECT k, v FROM t WHERE v % 2 = 0
-- view joined: SELECT t.k, d.name FROM t JOIN d ON t.k = d.k

CALL lake.set_option('data_inlining_row_limit', 100);
CREATE TABLE t (k INTEGER, v INTEGER);
CREATE TABLE d (k INTEGER, name VARCHAR);
INSERT INTO t VALUES (0, 0), (1, 1);
INSERT INTO d VALUES (0, 'zero'), (1, 'one'), (2, 'two');
UPDATE t SET v = v + 10 WHERE k = 1;
UPDATE t SET v = v + 1;
CALL ducklake_flush_inlined_data('lake');
INSERT INTO t SELECT i, i FROM range(2, 50) r(i);
UPDATE t SET v = v + 1 WHERE k % 5 = 0;
DELETE FROM t WHERE k = 1;
DELETE FROM t WHERE k BETWEEN 10 AND 15;
INSERT INTO t SELECT i, i FROM range(1000, 1200) r(i);
DELETE FROM t WHERE k BETWEEN 1003 AND 1010;
UPDATE t SET v = 0 WHERE k = 1050;
CALL ducklake_flush_inlined_data('lake');
UPDATE t SET v = 1 WHERE k IN (0, 1050, 20);
UPDATE d SET name = upper(name);

BEGIN;
INSERT INTO t VALUES (2000, 2000), (2001, 2001);
UPDATE t SET v = 5 WHERE k = 2000;
DELETE FROM t WHERE k = 2001;
COMMIT;
