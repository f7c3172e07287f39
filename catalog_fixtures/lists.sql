-- Lists to unnest, and functions called per row: NULL and empty lists, equal elements, lists that grow and shrink.
-- view tags: SELECT id, unnest(tags) AS tag FROM t
-- view numbered: SELECT t.id, n.i FROM t, LATERAL range(t.n) n(i)
-- view tag_names: SELECT u.id, d.name FROM (SELECT id, unnest(tags) AS tag FROM t) u JOIN d ON u.tag = d.tag

CREATE TABLE t (id INTEGER, tags VARCHAR[], n INTEGER);
CREATE TABLE d (tag VARCHAR, name VARCHAR);
INSERT INTO d VALUES ('a', 'letter a'), ('b', 'letter b');
INSERT INTO t VALUES (1, ['a', 'a', 'b'], 3), (2, [], 0), (3, NULL, NULL), (4, [NULL, 'c'], 1);
INSERT INTO t SELECT 10 + i, ['a', 'tag ' || i], i % 4 FROM range(20) r(i);
UPDATE t SET tags = ['b'] WHERE id = 1;
UPDATE t SET tags = list_append(tags, 'b'), n = n + 1 WHERE id > 20;
DELETE FROM t WHERE id IN (2, 3, 15);
INSERT INTO d VALUES ('a', 'also a'), ('c', NULL);
DELETE FROM d WHERE name = 'letter a';
UPDATE t SET tags = NULL WHERE id = 4;
