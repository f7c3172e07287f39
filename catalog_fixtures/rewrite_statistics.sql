-- A rewrite drops the extremes and the NULLs from a table's statistics, while older snapshots still have such rows.
-- view high: SELECT i, g FROM h WHERE i > 15
-- view missing: SELECT g FROM h WHERE i IS NULL

CREATE TABLE h (i INTEGER, g INTEGER);
INSERT INTO h SELECT CASE WHEN i = 0 THEN NULL ELSE i END, i % 20 + 1 FROM range(40) r(i);
DELETE FROM h WHERE i IS NULL OR i > 15;
CALL ducklake_rewrite_data_files('lake', 'h', delete_threshold => 0);
INSERT INTO h VALUES (NULL, 1), (99, 2);
DELETE FROM h WHERE i = 99;
CALL ducklake_flush_inlined_data('lake');
CALL ducklake_rewrite_data_files('lake', 'h', delete_threshold => 0);
INSERT INTO h SELECT i, 400 + i FROM range(16, 40) r(i);
