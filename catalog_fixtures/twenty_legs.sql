-- A fact table with nineteen small dimensions, for joins of twenty legs; first one leg changes, then several, then all.
-- view wide: SELECT f.id, d01.n AS n01, d02.n AS n02, d03.n AS n03, d04.n AS n04, d05.n AS n05, d06.n AS n06, d07.n AS n07, d08.n AS n08, d09.n AS n09, d10.n AS n10, d11.n AS n11, d12.n AS n12, d13.n AS n13, d14.n AS n14, d15.n AS n15, d16.n AS n16, d17.n AS n17, d18.n AS n18, d19.n AS n19 FROM f, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11, d12, d13, d14, d15, d16, d17, d18, d19 WHERE f.id % 3 = d01.k AND f.id % 4 = d02.k AND f.id % 5 = d03.k AND f.id % 3 = d04.k AND f.id % 4 = d05.k AND f.id % 5 = d06.k AND f.id % 3 = d07.k AND f.id % 4 = d08.k AND f.id % 5 = d09.k AND f.id % 3 = d10.k AND f.id % 4 = d11.k AND f.id % 5 = d12.k AND f.id % 3 = d13.k AND f.id % 4 = d14.k AND f.id % 5 = d15.k AND f.id % 3 = d16.k AND f.id % 4 = d17.k AND f.id % 5 = d18.k AND f.id % 3 = d19.k

BEGIN;
CREATE TABLE f AS SELECT i AS id FROM range(60) r(i);
CREATE TABLE d01 AS SELECT i AS k, 'd01 ' || i AS n FROM range(5) r(i);
CREATE TABLE d02 AS SELECT i AS k, 'd02 ' || i AS n FROM range(5) r(i);
CREATE TABLE d03 AS SELECT i AS k, 'd03 ' || i AS n FROM range(5) r(i);
CREATE TABLE d04 AS SELECT i AS k, 'd04 ' || i AS n FROM range(5) r(i);
CREATE TABLE d05 AS SELECT i AS k, 'd05 ' || i AS n FROM range(5) r(i);
CREATE TABLE d06 AS SELECT i AS k, 'd06 ' || i AS n FROM range(5) r(i);
CREATE TABLE d07 AS SELECT i AS k, 'd07 ' || i AS n FROM range(5) r(i);
CREATE TABLE d08 AS SELECT i AS k, 'd08 ' || i AS n FROM range(5) r(i);
CREATE TABLE d09 AS SELECT i AS k, 'd09 ' || i AS n FROM range(5) r(i);
CREATE TABLE d10 AS SELECT i AS k, 'd10 ' || i AS n FROM range(5) r(i);
CREATE TABLE d11 AS SELECT i AS k, 'd11 ' || i AS n FROM range(5) r(i);
CREATE TABLE d12 AS SELECT i AS k, 'd12 ' || i AS n FROM range(5) r(i);
CREATE TABLE d13 AS SELECT i AS k, 'd13 ' || i AS n FROM range(5) r(i);
CREATE TABLE d14 AS SELECT i AS k, 'd14 ' || i AS n FROM range(5) r(i);
CREATE TABLE d15 AS SELECT i AS k, 'd15 ' || i AS n FROM range(5) r(i);
CREATE TABLE d16 AS SELECT i AS k, 'd16 ' || i AS n FROM range(5) r(i);
CREATE TABLE d17 AS SELECT i AS k, 'd17 ' || i AS n FROM range(5) r(i);
CREATE TABLE d18 AS SELECT i AS k, 'd18 ' || i AS n FROM range(5) r(i);
CREATE TABLE d19 AS SELECT i AS k, 'd19 ' || i AS n FROM range(5) r(i);
COMMIT;
INSERT INTO f SELECT i FROM range(60, 80) r(i);
UPDATE d07 SET n = 'changed' WHERE k = 1;

BEGIN;
DELETE FROM f WHERE id = 30;
UPDATE d01 SET n = NULL WHERE k = 0;
INSERT INTO d19 VALUES (2, 'd19 again');
COMMIT;

BEGIN;
INSERT INTO f VALUES (100), (101);
UPDATE d01 SET n = 'new ' || n WHERE k = 2;
UPDATE d02 SET n = 'new ' || n WHERE k = 2;
UPDATE d03 SET n = 'new ' || n WHERE k = 2;
UPDATE d04 SET n = 'new ' || n WHERE k = 2;
UPDATE d05 SET n = 'new ' || n WHERE k = 2;
UPDATE d06 SET n = 'new ' || n WHERE k = 2;
UPDATE d07 SET n = 'new ' || n WHERE k = 2;
UPDATE d08 SET n = 'new ' || n WHERE k = 2;
UPDATE d09 SET n = 'new ' || n WHERE k = 2;
UPDATE d10 SET n = 'new ' || n WHERE k = 2;
UPDATE d11 SET n = 'new ' || n WHERE k = 2;
UPDATE d12 SET n = 'new ' || n WHERE k = 2;
UPDATE d13 SET n = 'new ' || n WHERE k = 2;
UPDATE d14 SET n = 'new ' || n WHERE k = 2;
UPDATE d15 SET n = 'new ' || n WHERE k = 2;
UPDATE d16 SET n = 'new ' || n WHERE k = 2;
UPDATE d17 SET n = 'new ' || n WHERE k = 2;
UPDATE d18 SET n = 'new ' || n WHERE k = 2;
UPDATE d19 SET n = 'new ' || n WHERE k = 2;
COMMIT;
DELETE FROM d10 WHERE k = 1;
