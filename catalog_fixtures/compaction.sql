-- Maintenance in every order between small changes: flush, merge, rewrite, checkpoint. Windows of maintenance change no row.
-- view kept: SELECT k, v FROM t WHERE k % 2 = 0
-- view joined: SELECT t.k, t.v, d.name FROM t JOIN d ON t.v = d.v

CREATE TABLE t (k INTEGER, v INTEGER);
CREATE TABLE d (v INTEGER, name VARCHAR);
INSERT INTO d SELECT i, 'name ' || i FROM range(10) r(i);

-- Three files and some inlined rows.
INSERT INTO t SELECT i, i % 10 FROM range(40) r(i);
INSERT INTO t SELECT i, i % 10 FROM range(40, 80) r(i);
INSERT INTO t SELECT i, i % 10 FROM range(80, 120) r(i);
INSERT INTO t VALUES (120, 0), (121, 1), (122, 2);

CALL ducklake_flush_inlined_data('lake');
CALL ducklake_merge_adjacent_files('lake');

DELETE FROM t WHERE k = 3;
CALL ducklake_flush_inlined_data('lake');
UPDATE t SET v = v + 1 WHERE k IN (10, 20, 30);
CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);

INSERT INTO t VALUES (200, 3), (201, 4);
UPDATE t SET v = 9 WHERE k = 200;
CALL ducklake_flush_inlined_data('lake', table_name => 't');
UPDATE t SET v = 8 WHERE k = 200;
CALL ducklake_merge_adjacent_files('lake');
UPDATE t SET v = 7 WHERE k = 200;

DELETE FROM t WHERE k BETWEEN 50 AND 90;
CALL ducklake_rewrite_data_files('lake', delete_threshold => 0);
UPDATE d SET name = NULL WHERE v = 4;
CALL ducklake_flush_inlined_data('lake');
CALL ducklake_merge_adjacent_files('lake');
CALL ducklake_rewrite_data_files('lake', 'd', delete_threshold => 0);

INSERT INTO t SELECT i, i % 10 FROM range(300, 330) r(i);
DELETE FROM t WHERE k >= 300;
CHECKPOINT lake;
DELETE FROM d WHERE v = 1;
CHECKPOINT lake;
