-- Every type that a lake can hold, with NULLs, extremes and values that compare equal but differ.
-- view scalars: SELECT id, b, i8, i64, u64, f, d, exact, wide, text, bytes, day, moment, moment_tz, clock, span, uid, doc FROM t WHERE id <> 2
-- view nested: SELECT id, list, place, tags, deep FROM t
-- view by_double: SELECT a.id, b.id AS other FROM t a JOIN t b ON a.d = b.d

CREATE TABLE t (
    id INTEGER, b BOOLEAN, i8 TINYINT, i64 BIGINT, u64 UBIGINT, f FLOAT, d DOUBLE, exact DECIMAL(4, 1), wide DECIMAL(38, 10),
    text VARCHAR, bytes BLOB, day DATE, moment TIMESTAMP, moment_tz TIMESTAMPTZ, clock TIME, span INTERVAL, uid UUID, doc JSON,
    list INTEGER[], place STRUCT(x INTEGER, y VARCHAR), tags MAP(VARCHAR, INTEGER), deep STRUCT(a INTEGER[], b STRUCT(c VARCHAR))[]
);
INSERT INTO t (id) VALUES (0);
INSERT INTO t VALUES (
    1, true, 127, 9223372036854775807, 18446744073709551615, 'nan', 'infinity', 999.9, 1234567890123456789012345678.0123456789,
    'it''s "quoted"; and' || chr(10) || 'broken', '\x00\xFF'::BLOB, DATE '9999-12-31', TIMESTAMP '2026-01-01 00:00:00.123456',
    TIMESTAMPTZ '2026-01-01 00:00:00+02', TIME '23:59:59.999999', INTERVAL '1 month', '00000000-0000-0000-0000-000000000001',
    '{"a": [1, null]}', [1, NULL, 3], {'x': 1, 'y': NULL}, MAP {'a': 1, 'b': NULL}, [{'a': [1], 'b': {'c': 'x'}}, NULL]
);
INSERT INTO t VALUES (
    2, false, -128, -9223372036854775808, 0, '-0.0', '-infinity', -999.9, -0.0000000001, '', ''::BLOB, 'infinity'::DATE,
    '-infinity'::TIMESTAMP, 'infinity'::TIMESTAMPTZ, TIME '00:00:00', INTERVAL '30 days', '00000000-0000-0000-0000-000000000000',
    'null', [], {'x': NULL, 'y': ''}, MAP {}, []
);
INSERT INTO t SELECT * REPLACE (3 AS id, 'nan'::DOUBLE AS d) FROM t WHERE id = 1;
INSERT INTO t SELECT * REPLACE (4 AS id, 0.0 AS d) FROM t WHERE id = 2;
UPDATE t SET d = '-0.0' WHERE id = 4;
UPDATE t SET span = INTERVAL '30 days' WHERE id = 3;
UPDATE t SET list = [NULL], place = NULL, deep = NULL WHERE id = 1;
INSERT INTO t SELECT t.* REPLACE (10 + i AS id, i AS d) FROM t, range(20) r(i) WHERE id = 1;
CALL ducklake_flush_inlined_data('lake');
DELETE FROM t WHERE id IN (0, 12, 13);
UPDATE t SET text = NULL, bytes = NULL, doc = NULL WHERE id = 15;
