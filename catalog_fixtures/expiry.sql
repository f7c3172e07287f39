-- Snapshots expire: one in the middle, the oldest ones, and then everything but the newest.
-- view low: SELECT k, v FROM t WHERE k < 10
-- view still: SELECT k FROM unchanged

CREATE TABLE t (k INTEGER, v INTEGER);
CREATE TABLE unchanged (k INTEGER);
INSERT INTO unchanged SELECT i FROM range(20) r(i);
INSERT INTO t SELECT i, i FROM range(20) r(i);
UPDATE t SET v = v + 1 WHERE k < 3;
DELETE FROM t WHERE k = 5;
SET VARIABLE inside = (SELECT max(snapshot_id) - 1 FROM ducklake_snapshots('lake'));
CALL ducklake_expire_snapshots('lake', versions => [getvariable('inside')]);
INSERT INTO t VALUES (6, 60), (7, 70);
DELETE FROM t WHERE k = 6 AND v = 6;
INSERT INTO t SELECT 8, i FROM range(30) r(i);
SET VARIABLE oldest = (SELECT list(snapshot_id ORDER BY snapshot_id)[:4] FROM ducklake_snapshots('lake'));
CALL ducklake_expire_snapshots('lake', versions => getvariable('oldest'));
CALL ducklake_cleanup_old_files('lake', cleanup_all => true);
UPDATE t SET v = -1 WHERE k = 8 AND v > 20;
CALL ducklake_merge_adjacent_files('lake');
CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 HOUR);
CALL ducklake_cleanup_old_files('lake', cleanup_all => true);
DELETE FROM t WHERE k = 8;
INSERT INTO t VALUES (1, 100);
