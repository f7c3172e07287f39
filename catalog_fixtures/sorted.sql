-- Tables with a sort order, flushed and merged, with rows that arrive out of order.
-- view middle: SELECT k, v FROM t WHERE k BETWEEN 10 AND 30

CREATE TABLE t (k INTEGER, v VARCHAR);
ALTER TABLE t SET SORTED BY (k);
INSERT INTO t SELECT 50 - i, 'v ' || i FROM range(50) r(i);
INSERT INTO t VALUES (30, 'late'), (10, 'later'), (20, NULL);
CALL ducklake_flush_inlined_data('lake');
UPDATE t SET v = 'changed' WHERE k % 10 = 0;
CALL ducklake_merge_adjacent_files('lake');
ALTER TABLE t SET SORTED BY (v DESC);
INSERT INTO t SELECT i, 'w ' || i FROM range(15, 35) r(i);
DELETE FROM t WHERE k = 25;
CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);
INSERT INTO t VALUES (11, 'x'), (12, 'y');
CALL ducklake_flush_inlined_data('lake');
ALTER TABLE t RESET SORTED BY;
INSERT INTO t VALUES (13, 'z');
