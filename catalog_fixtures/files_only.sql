-- Nothing is inlined: every statement makes data files and delete files, and files are emptied wholly and in parts.
-- view low: SELECT k, v FROM t WHERE v < 50
-- view joined: SELECT a.k, b.v FROM t a JOIN t b ON a.k = b.k + 1

CALL lake.set_option('data_inlining_row_limit', 0);
CREATE TABLE t (k INTEGER, v INTEGER);
INSERT INTO t SELECT i, i FROM range(5) r(i);
INSERT INTO t SELECT i, i FROM range(5, 13) r(i);
INSERT INTO t SELECT i, i FROM range(13, 60) r(i);

-- The second statement empties a file from which the first one took a row.
BEGIN;
DELETE FROM t WHERE k = 2;
DELETE FROM t WHERE k < 5;
COMMIT;

-- Two updates of one file.
BEGIN;
UPDATE t SET v = v + 1 WHERE k IN (6, 11);
UPDATE t SET v = v + 1 WHERE k IN (6, 10);
COMMIT;

INSERT INTO t VALUES (100, 1);
DELETE FROM t WHERE k = 100;
CALL ducklake_merge_adjacent_files('lake');
UPDATE t SET v = v + 10 WHERE k % 2 = 0;
UPDATE t SET v = v + 10 WHERE k % 3 = 0;
DELETE FROM t WHERE k BETWEEN 20 AND 40;
CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);
DELETE FROM t WHERE k > 50;
INSERT INTO t SELECT i, i FROM range(50, 70) r(i);
CALL ducklake_merge_adjacent_files('lake');
DELETE FROM t WHERE k = 60;
