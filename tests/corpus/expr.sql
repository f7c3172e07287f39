-- Scalar expressions and functions.
SELECT id + 1, id - 1, id * 2, id / 2, id // 2, id % 2, id ** 2, -id, @id, ~id, id & 3, id | 4, id << 1, id >> 1 FROM orders

SELECT amount + 1, 1 - amount, amount * 2, amount * amount, amount + 0.001, amount % 2, -amount, amount / 2, amount + id, round(amount, 1), round(amount) FROM orders

SELECT dec + dec, dec * dec, dec - i32, wide + 1, wide + dec, dec * i8, i8 + dec FROM every_type WHERE dec IS NOT NULL

SELECT 2.5 * amount, 0.5 + amount, amount * 1.10, (amount + 1) * 2 FROM orders

SELECT i8 + i16, i16 + i64, u8 + 1, u32 + i64, f32 + 1, f64 * 2, i64 + f64, i8 + 1::TINYINT FROM every_type WHERE i8 < 0

SELECT CASE WHEN id = 1 THEN 'one' WHEN id > 5 THEN 'many' END, CASE customer WHEN 1 THEN 'a' ELSE 'b' END FROM orders

SELECT coalesce(note, 'none'), nullif(customer, 2), ifnull(customer, 0), greatest(id, customer, 3), least(1, id) FROM orders

SELECT id IN (1, 2, NULL), id NOT IN (4), note IS NULL, note IS NOT NULL, NOT (id = 1), id BETWEEN 2 AND 4 FROM orders

SELECT CAST(id AS VARCHAR), CAST(note AS BLOB), TRY_CAST(note AS INTEGER), id::DOUBLE, amount::INTEGER, placed::TIMESTAMP, try(id + 1) FROM orders

SELECT note || 'x', concat(note, id, NULL), concat_ws('-', note, id), upper(note), lower(note), length(note), substring(note, 1, 2), trim(note), replace(note, 'r', 'q'), left(note, 2), position('s' IN note), lpad(note, 6, '*'), reverse(note), contains(note, 'u'), strlen(note) FROM orders

SELECT note LIKE 'r%', note NOT LIKE '%s', note ILIKE 'R%', note NOT ILIKE 'R%', note LIKE 'a!%b' ESCAPE '!', note GLOB 'r*', note SIMILAR TO 'r.*', note ~ 'r.*', regexp_matches(note, 'us'), regexp_replace(note, 's', 't', 'g'), regexp_extract(note, '(r)(u)', 2), starts_with(note, 'ru'), note ^@ 's' FROM orders

SELECT date_trunc('month', placed), date_part('year', placed), extract(day FROM placed), placed + INTERVAL 1 DAY, placed - INTERVAL '2 months', placed - DATE '2021-01-01', date_diff('day', DATE '2021-01-01', placed), strftime(placed, '%Y/%m'), last_day(placed), dayname(placed), age(placed::TIMESTAMP, TIMESTAMP '2020-01-01'), make_date(2020, id, 1), epoch(placed) FROM orders WHERE id < 8

SELECT ts + INTERVAL 3 HOUR, tz + INTERVAL 1 DAY, tod + INTERVAL 1 MINUTE, span * 2, ts - ts_ms, extract(epoch FROM ts), tz AT TIME ZONE 'UTC', ts::DATE, strptime('2020-01-02', '%Y-%m-%d'), time_bucket(INTERVAL 1 WEEK, ts) FROM every_type WHERE flag

SELECT abs(id), sqrt(id), exp(id), ln(id), floor(amount), ceil(amount), sign(id), pow(id, 2), mod(id, 3), id % 3, pi(), degrees(id), even(amount), factorial(id), gcd(id, 4), bit_count(id) FROM orders

SELECT md5(note), sha256(note), hash(id), hex(note), bin(id), base64(note::BLOB), unhex('4142'), encode(note), decode('x'::BLOB), chr(65), ascii(note), to_base(id, 2), to_base(id, 2, 8) FROM orders

SELECT typeof(id), typeof(detail), 1 IS NULL FROM orders

SELECT tags[1], tags[1:2], tags[-1], len(tags), list_contains(tags, 'a'), list_position(tags, 'b'), list_concat(tags, ['z']), list_sort(tags, 'DESC'), list_sort(tags), list_reverse(tags), list_distinct(tags), list_unique(tags), flatten([tags, ['q']]), list_slice(tags, 1, 1), array_to_string(tags, '|'), tags || ['x'], tags && ['a'], tags @> ['a'], list_zip(tags, [1, 2]), range(id), generate_series(1, id) FROM orders WHERE id < 5

SELECT list_aggregate([1, 2, id], 'sum'), list_aggregate(tags, 'string_agg', '|'), list_sum([id, 1]), list_avg([id]), list_min(tags), list_aggr([id, 2, 3], 'quantile_cont', 0.25), list_aggr([id, 2, 3], 'quantile_disc', [0.25, 0.5]), list_aggr([id], 'median'), list_aggregate([1, id], 'approx_quantile', 0.5) FROM orders

SELECT detail.kind, detail['label'], struct_extract(detail, 'kind'), {'a': id, 'b': note}, struct_pack(x := id, y := [note]), struct_insert(detail, extra := id), row(id, note), (row(id, note))[1], struct_extract_at(row(id, note), 2), struct_concat(detail, {'q': 1}), struct_update(detail, kind := 'k', more := 1) FROM orders

SELECT map {'a': id}, map([id, 0], ['x', 'y']), map {'a': id}['a'], map_keys(map {'a': id}), map_values(map {'a': id}), map_entries(map {1: note}), cardinality(map {1: 2}), map_from_entries([(id, note)]), map_concat(map {'a': 1}, map {'b': id}), map_extract(map {'a': id}, 'a') FROM orders

SELECT union_value(k := id), union_tag(union_value(k := id)), union_extract(union_value(k := id), 'k'), array_value(id, 2, 3), array_distance(array_value(1.0, 2.0), array_value(3.0, id::DOUBLE)), array_value(id, 1)[1] FROM orders

SELECT doc -> 'a', doc ->> 'a', doc -> '$.a[0]', json_extract(doc, '$.a'), json_array_length(doc), json_type(doc), json_keys(doc), json_object('k', i32, 'l', txt), json_array(i32, txt), to_json(list), json_valid(txt), doc::VARCHAR, json_structure(doc), json_transform(doc, '{"a": ["INTEGER"]}'), from_json(doc, '{"a": ["INTEGER"]}'), json_contains(doc, '1'), row_to_json(nested) FROM every_type

SELECT list_transform(tags, lambda x: x || '!'), list_filter(tags, lambda x: x <> 'a'), list_reduce([1, 2, id], lambda a, b: a * 10 + b), list_reduce([1, 2], lambda a, b: a + b + id, 100), list_transform([10, 20], lambda x, i: x + i + id), list_filter([1, 2, 3], lambda x, i: i > 1 AND x < 3), [x + id FOR x IN [1, 2, 3] IF x > 1] FROM orders

SELECT list_transform([[1, 2], [3]], lambda x: list_transform(x, lambda y, i: y + i + len(x) + id)), list_filter(tags, lambda x: len(list_filter(tags, lambda y: y = x || coalesce(note, ''))) > 0), list_reduce([1, 2, 3], lambda a, b, i: a - b + i) FROM orders

SELECT list_transform(tags, lambda x: {'v': x, 'n': note}), apply(tags, lambda x: upper(x)), list_transform(tags, lambda x: CASE WHEN x = 'a' THEN customer ELSE id END) FROM orders

SELECT name COLLATE NOCASE = 'ADA', name COLLATE de < 'b', name = 'Ada' FROM customer

SELECT error('x') FROM customer WHERE FALSE

SELECT CAST('a' AS ENUM ('a', 'b')), CAST(note AS ENUM ('rush', 'slow', 'it''s', 'a%b', '')), CAST(CAST('b' AS ENUM ('a', 'b')) AS VARCHAR) FROM orders

SELECT 'a' < 'b', TRUE AND NULL, FALSE OR NULL, TRUE <> FALSE, NOT NULL::BOOLEAN, 1 = 1.0, '1' = 1, DATE '2020-01-01' < TIMESTAMP '2020-01-01 01:00:00'

SELECT id::HUGEINT, (id::UTINYINT)::USMALLINT, id::BIT, '10101'::BIT & '11111'::BIT, bitstring('101', 8), get_bit('101'::BIT, 1) FROM orders WHERE id = 3

SELECT xor(id, 1), format('{} is {}', id, note), printf('%d-%s', id, note), string_split(note, 's'), unicode(note), repeat(note, 2), translate(note, 'r', 'R'), url_encode(note), parse_filename('/a/b.c'), levenshtein(note, 'rash'), jaccard(note || 'z', 'rushz') FROM orders WHERE note IS NOT NULL

SELECT row(id, note) = row(1, 'rush'), row(id, 1) < row(2, 2.5), (id, note) IN ((1, 'rush'), (2, NULL)), [id, 2] = [1, 2], {'a': id} = {'a': 1} FROM orders

SELECT current_setting('TimeZone'), version() IS NOT NULL

-- rows differ
SELECT random() < 2, uuid() IS NOT NULL, now() IS NOT NULL, current_date IS NOT NULL FROM customer

-- rows differ
SELECT alias(id) FROM customer
