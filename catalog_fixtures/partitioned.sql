-- Partitioned tables: by value and by year from the start, by another key later; rows move between partitions.
-- view north: SELECT id, amount FROM t WHERE region = 'north'
-- view regions: SELECT t.id, r.name FROM t JOIN r ON t.region = r.region

CREATE TABLE t (id INTEGER, region VARCHAR, day DATE, amount INTEGER);
CREATE TABLE r (region VARCHAR, name VARCHAR);
ALTER TABLE t SET PARTITIONED BY (region, year(day));
INSERT INTO r VALUES ('north', 'the north'), ('south', 'the south'), (NULL, 'nowhere');
INSERT INTO t SELECT i, ['north', 'south', NULL][1 + i % 3], DATE '2023-01-01' + (i * 20)::INTEGER, i FROM range(60) r(i);
UPDATE t SET region = 'south' WHERE id IN (0, 3, 6);
DELETE FROM t WHERE region = 'south' AND day < DATE '2024-01-01';
ALTER TABLE t SET PARTITIONED BY (month(day));
INSERT INTO t SELECT i, 'north', DATE '2025-01-01' + i::INTEGER, i FROM range(60, 90) r(i);
UPDATE t SET amount = amount + 1 WHERE id % 10 = 0;
CALL ducklake_merge_adjacent_files('lake');
ALTER TABLE t RESET PARTITIONED BY;
DELETE FROM t WHERE id > 80;
INSERT INTO t VALUES (100, 'south', DATE '2026-01-01', 1);
CALL ducklake_flush_inlined_data('lake');
CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0);
