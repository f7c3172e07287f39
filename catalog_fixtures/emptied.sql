-- Tables that are empty at first, emptied, and filled again, on both sides of a join.
-- view joined: SELECT l.k, l.v, r.w FROM l JOIN r ON l.k = r.k
-- view product: SELECT l.k, r.w FROM l CROSS JOIN r
-- view both: SELECT k FROM l UNION ALL SELECT k FROM r

CREATE TABLE l (k INTEGER, v INTEGER);
CREATE TABLE r (k INTEGER, w INTEGER);
INSERT INTO l SELECT i % 4, i FROM range(12) r(i);
INSERT INTO r SELECT i % 3, i FROM range(3) r(i);
DELETE FROM l;
INSERT INTO r VALUES (NULL, NULL);
INSERT INTO l VALUES (NULL, NULL), (1, 1), (1, 1);
TRUNCATE r;
BEGIN;
DELETE FROM l;
INSERT INTO l SELECT 1, i FROM range(30) r(i);
INSERT INTO r SELECT 1, i FROM range(2) r(i);
COMMIT;
BEGIN;
DELETE FROM l;
DELETE FROM r;
COMMIT;
INSERT INTO r VALUES (1, 1);
INSERT INTO l VALUES (1, 1);
