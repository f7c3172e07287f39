-- Columns that a view uses are promoted, renamed and at last dropped.
-- view values_of_t: SELECT id, amount FROM t WHERE amount > 5

CREATE TABLE t (id INTEGER, amount INTEGER, note VARCHAR);
INSERT INTO t SELECT i, i, 'note ' || i FROM range(20) r(i);
ALTER TABLE t ALTER COLUMN amount SET DATA TYPE BIGINT;
INSERT INTO t VALUES (20, 6000000000, NULL);
DELETE FROM t WHERE id = 10;
ALTER TABLE t RENAME COLUMN amount TO total;
UPDATE t SET total = total + 1 WHERE id = 12;
ALTER TABLE t RENAME COLUMN total TO amount;
UPDATE t SET amount = 0 WHERE id = 13;
ALTER TABLE t DROP COLUMN amount;
INSERT INTO t VALUES (30, 'note 30');
