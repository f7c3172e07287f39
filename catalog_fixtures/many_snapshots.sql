-- Many small commits to several tables, so that windows of every length hold changes of some tables and not of others.
-- view ab: SELECT a.k, a.v, b.v AS other FROM a JOIN b ON a.k = b.k
-- view abc: SELECT a.k, b.v, c.v AS third FROM a, b, c WHERE a.k = b.k AND b.v % 5 = c.k
-- view all_three: SELECT k, v FROM a UNION ALL SELECT k, v FROM b WHERE v > 3 UNION ALL SELECT v, k FROM c

CREATE TABLE a (k INTEGER, v INTEGER);
CREATE TABLE b (k INTEGER, v INTEGER);
CREATE TABLE c (k INTEGER, v INTEGER);
INSERT INTO a SELECT i % 6, i FROM range(18) r(i);
INSERT INTO b SELECT i % 6, i FROM range(12) r(i);
INSERT INTO c SELECT i % 6, i FROM range(20) r(i);
INSERT INTO a VALUES (1, 100), (5, 9);
DELETE FROM a WHERE k = 3 AND v % 2 = 1;
INSERT INTO a VALUES (6, 102), (1, 3);
UPDATE a SET v = v + 3 WHERE k = 0;
DELETE FROM a WHERE k = 0 AND v % 2 = 0;
UPDATE c SET v = v + 1 WHERE k = 0;
UPDATE a SET v = v + 2 WHERE k = 2;
INSERT INTO b VALUES (1, 107), (4, 8);
INSERT INTO a VALUES (3, 108), (5, 1);
UPDATE c SET k = 0 WHERE v % 7 = 4;
UPDATE a SET v = v + 2 WHERE k = 6;
UPDATE b SET v = v + 2 WHERE k = 7;
INSERT INTO b VALUES (2, 112), (3, 1);
INSERT INTO c VALUES (7, 113), (5, 7);
UPDATE b SET v = v + 1 WHERE k = 1;
INSERT INTO c VALUES (5, 115), (2, 7);
INSERT INTO b VALUES (1, 116), (5, 5);
UPDATE b SET v = v + 1 WHERE k = 7;
DELETE FROM a WHERE k = 7 AND v % 2 = 0;
INSERT INTO a VALUES (4, 119), (7, 4);
DELETE FROM b WHERE k = 5 AND v % 2 = 0;
DELETE FROM a WHERE k = 5 AND v % 2 = 1;
UPDATE a SET v = v + 1 WHERE k = 7;
UPDATE a SET k = 2 WHERE v % 7 = 5;
INSERT INTO a VALUES (7, 124), (1, 2);
INSERT INTO b VALUES (4, 125), (2, 6);
INSERT INTO c VALUES (6, 126), (5, 6);
INSERT INTO a VALUES (2, 127), (2, 3);
INSERT INTO a VALUES (2, 128), (4, 4);
INSERT INTO a VALUES (5, 129), (5, 2);
DELETE FROM c WHERE k = 0 AND v % 2 = 0;
DELETE FROM b WHERE k = 6 AND v % 2 = 1;
INSERT INTO b VALUES (1, 132), (7, 6);
INSERT INTO a VALUES (3, 133), (7, 2);
INSERT INTO a VALUES (0, 134), (1, 0);
INSERT INTO c VALUES (1, 135), (5, 9);
