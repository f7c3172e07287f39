-- Columns are added (with and without a default), dropped, renamed, promoted, and added again under an old name.
-- view untouched: SELECT id, label FROM t WHERE id % 2 = 1
-- view joined: SELECT t.id, d.name FROM t JOIN d ON t.id = d.id

CREATE TABLE t (id INTEGER, small SMALLINT, label VARCHAR, gone VARCHAR, place STRUCT(x INTEGER, y INTEGER));
CREATE TABLE d (id INTEGER, name VARCHAR);
INSERT INTO t SELECT i, i, 'label ' || i, 'gone ' || i, {'x': i, 'y': -i} FROM range(25) r(i);
INSERT INTO d SELECT i, 'name ' || i FROM range(0, 25, 3) r(i);

ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 42;
INSERT INTO t VALUES (100, 1, 'label 100', NULL, NULL, 1);
UPDATE t SET extra = 7 WHERE id < 5;
ALTER TABLE t DROP COLUMN gone;
DELETE FROM t WHERE id = 9;
ALTER TABLE t ALTER COLUMN small SET DATA TYPE BIGINT;
INSERT INTO t VALUES (101, 5000000000, 'label 101', {'x': 1, 'y': 2}, NULL);
ALTER TABLE t RENAME COLUMN extra TO surplus;
UPDATE t SET surplus = surplus + 1 WHERE id > 20;
ALTER TABLE t ADD COLUMN gone VARCHAR;
UPDATE t SET gone = 'back' WHERE id = 1;
ALTER TABLE t ADD COLUMN place.z INTEGER;
INSERT INTO t VALUES (103, 7, 'label 103', {'x': 3, 'y': 3, 'z': 3}, 4, NULL);
ALTER TABLE t DROP COLUMN place.y;
DELETE FROM t WHERE id IN (3, 103);

-- Changes of a table that change no row of it.
COMMENT ON TABLE t IS 'a table';
COMMENT ON COLUMN t.id IS 'a column';
ALTER TABLE d ALTER COLUMN name SET DEFAULT 'nobody';
ALTER TABLE d ALTER COLUMN id SET NOT NULL;
INSERT INTO d (id) VALUES (7);
ALTER TABLE d ALTER COLUMN id DROP NOT NULL;

-- A column is altered and rows change in one transaction.
BEGIN;
ALTER TABLE t ADD COLUMN late DATE;
UPDATE t SET late = DATE '2026-01-01' WHERE id < 3;
INSERT INTO t (id, label, late) VALUES (104, 'label 104', DATE '2026-01-02');
COMMIT;
