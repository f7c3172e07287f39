-- Tables are renamed, renamed back, and swap their names: same identity, another name.
-- view rows_of_a: SELECT k, v FROM a
-- view rows_of_both: SELECT a.k, a.v, b.v AS other FROM a JOIN b ON a.k = b.k

CREATE TABLE a (k INTEGER, v INTEGER);
CREATE TABLE b (k INTEGER, v INTEGER);
INSERT INTO a SELECT i, i FROM range(15) r(i);
INSERT INTO b SELECT i, -i FROM range(15) r(i);

ALTER TABLE a RENAME TO c;
UPDATE c SET v = v + 1 WHERE k = 3;
INSERT INTO c VALUES (3, 33);
ALTER TABLE c RENAME TO a;
DELETE FROM a WHERE k = 4;

BEGIN;
ALTER TABLE a RENAME TO a_old;
INSERT INTO a_old VALUES (5, 55);
COMMIT;
DELETE FROM b WHERE k = 5;
ALTER TABLE a_old RENAME TO a;

-- a and b swap their names. A view over `a` stays with the table that it was made over.
ALTER TABLE a RENAME TO swap;
ALTER TABLE b RENAME TO a;
ALTER TABLE swap RENAME TO b;
INSERT INTO a VALUES (6, -66);
INSERT INTO b VALUES (6, 66);
DELETE FROM b WHERE k = 1;
