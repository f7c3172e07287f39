-- Views and macros of the lake as sources, and a view of the lake that is defined anew under a view over it.
-- view through_view: SELECT k, twice FROM doubled WHERE k > 2
-- view through_views: SELECT a.k, b.twice FROM t a JOIN doubled_twice b ON a.k = b.k
-- view through_macro: SELECT k, lake.plus_one(v) AS next FROM t

CREATE TABLE t (k INTEGER, v INTEGER);
INSERT INTO t SELECT i, i * 10 FROM range(15) r(i);
CREATE VIEW doubled AS SELECT k, v * 2 AS twice FROM t;
CREATE VIEW doubled_twice AS SELECT k, twice * 2 AS twice FROM doubled WHERE k < 12;
CREATE MACRO plus_one(x) AS x + 1;
INSERT INTO t VALUES (3, 30), (20, NULL);
DELETE FROM t WHERE k = 5;
UPDATE t SET v = v + 1 WHERE k % 2 = 0;
CREATE OR REPLACE VIEW doubled AS SELECT k, v * 20 AS twice FROM t WHERE v IS NOT NULL;
INSERT INTO t VALUES (4, 44);
