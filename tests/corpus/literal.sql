-- Constants of every type.
SELECT 1, -1, 0, 2147483647, -2147483648, 2147483648, 9223372036854775807, -9223372036854775808, 9223372036854775808, 170141183460469231731687303715884105727, -5

SELECT 1.5, -0.05, 0.30, 12345678901234567890.5, .5, 1e3, -1e-3, 1.7976931348623157e308, 5e-324, 0.1::FLOAT, 1::FLOAT, 0.1::DOUBLE

SELECT 'x', '', 'it''s', 'NULL', 'ünï', '😀', E'tab\there\nline', 'back\slash', '"quoted"', '-- no comment'

SELECT TRUE, FALSE, NULL, NULL::INTEGER, NULL::VARCHAR, NULL::INTEGER[], NULL::DECIMAL(5, 2)

SELECT DATE '2020-02-29', DATE '0001-12-31 (BC)', 'infinity'::DATE, TIME '12:34:56.789', TIMESTAMP '2020-01-01 00:00:00.5', TIMESTAMPTZ '2020-01-01 00:00:00+02', '2020-01-01'::TIMESTAMP_S, '2020-01-01 00:00:00.123456789'::TIMESTAMP_NS, INTERVAL '1 year 2 days 3 seconds', INTERVAL 5 MINUTE, UUID 'a0000000-0000-0000-0000-000000000001', TIMETZ '10:00:00+02'

SELECT 1::TINYINT, 1::SMALLINT, 1::BIGINT, 1::HUGEINT, 1::UTINYINT, 1::USMALLINT, 1::UINTEGER, 1::UBIGINT, 1::UHUGEINT, 18446744073709551615::UBIGINT, 1::DECIMAL(10, 0), 1.5::DECIMAL(38, 10)

SELECT '\xAA\x00'::BLOB, ''::BLOB, 'abc'::BLOB, '101'::BIT, '{"a": 1}'::JSON, 123::BIGNUM, 'nan'::DOUBLE, '-inf'::FLOAT

SELECT [], [1, 2], [1, NULL], [[1], []], ['a'], [1.5, 2], {'a': 1}, {'a': {'b': [1]}}, map {'a': 1}, map {}, row(1, 'a'), [{'a': 1}, {'a': 2}], array_value(1, 2), union_value(a := 1)

SELECT getvariable('int') AS a, getvariable('big') AS b, getvariable('dec') AS c, getvariable('day') AS d, getvariable('stamp') AS e, getvariable('tz') AS f, getvariable('span') AS g, getvariable('uuid') AS h, getvariable('list') AS i, getvariable('struct') AS j, getvariable('map') AS k, getvariable('blob') AS l, getvariable('enum') AS m, getvariable('pair') AS n, getvariable('real') AS o, getvariable('json') AS p, getvariable('none') AS q, getvariable('empty') AS r, getvariable('wide') AS s, getvariable('tod') AS t, getvariable('ns') AS u, getvariable('fixed') AS v, getvariable('nested') AS w

-- refused: a cast to STRUCT
SELECT NULL::STRUCT(a INTEGER) AS s, coalesce(NULL, row(1, 2), row(1.5, 3)) AS r

SELECT 'POINT (1 2)'::GEOMETRY AS g
