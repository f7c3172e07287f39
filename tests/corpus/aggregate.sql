-- Grouping and aggregate functions.
SELECT count(*) FROM orders

SELECT count(*), count(note), count(DISTINCT customer), sum(amount), avg(amount), min(amount), max(note) FROM orders

SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer

SELECT customer, sum(amount) + count(*) AS odd, sum(amount) FROM orders GROUP BY customer HAVING count(*) > 1

SELECT c.nation, sum(o.amount) FROM orders o JOIN customer c ON o.customer = c.id WHERE o.amount > 0 GROUP BY c.nation

SELECT customer % 2 AS parity, count(*) FROM orders GROUP BY customer % 2

SELECT upper(note) || 'x', count(*) FROM orders GROUP BY upper(note), note

SELECT customer + 1, customer * 2, count(*) FROM orders GROUP BY customer

SELECT 1 AS one FROM orders GROUP BY 'x'

SELECT 1 AS one, count(*) FROM orders GROUP BY ()

SELECT 1 AS one FROM orders HAVING count(*) > 1

SELECT sum(amount) FROM orders WHERE FALSE

SELECT customer FROM orders GROUP BY ALL

SELECT sum(amount) FILTER (WHERE id > 2), count(*) FILTER (WHERE note IS NULL), count(DISTINCT note) FILTER (WHERE id < 5) FROM orders

SELECT customer, string_agg(note, '-' ORDER BY id DESC), list(id ORDER BY id DESC, note), array_agg(DISTINCT note ORDER BY note DESC NULLS LAST), first(note ORDER BY id), last(id ORDER BY id), string_agg(DISTINCT note, ', ' ORDER BY note) FROM orders GROUP BY customer

SELECT string_agg(note ORDER BY id), group_concat(note, '' ORDER BY id), listagg(note, ';' ORDER BY id), string_agg(id, ',' ORDER BY id) FROM orders

SELECT quantile_cont(amount, 0.3), quantile_disc(amount, 0.5), quantile(id, 0.25), median(amount), quantile_cont(id, [0.25, 0.5]), quantile_disc(note, [0.1, 0.9]), median(placed), mad(id), quantile_cont(placed, 0.5), quantile_disc(tags, 0.5) FROM orders

SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY amount DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY id), percentile_cont([0.25, 0.5]) WITHIN GROUP (ORDER BY id DESC), mode() WITHIN GROUP (ORDER BY customer) FROM orders

SELECT percentile_cont(0) WITHIN GROUP (ORDER BY amount DESC) FROM orders

-- rows differ
SELECT approx_quantile(id, 0.5), approx_quantile(amount, [0.1, 0.2]), reservoir_quantile(id, 0.5), reservoir_quantile(id, [0.1, 0.9], 100), approx_count_distinct(id), approx_top_k(note, 2) FROM orders

SELECT stddev(amount), var_pop(amount), variance(id), stddev_pop(id), corr(id, customer), covar_pop(id, customer), covar_samp(id, customer), regr_slope(id, customer), regr_count(id, customer), kurtosis(id), skewness(id), entropy(note), sem(id), product(id), favg(amount), fsum(id) FROM orders

SELECT bool_and(amount > 1), bool_or(amount > 1), bit_and(id), bit_or(id), bit_xor(id), bitstring_agg(id, 1, 9), count_if(amount > 1), histogram(customer), histogram(id, [2, 4]), mode(customer) FROM orders

SELECT arg_min(note, id), arg_max(id, amount + id), arg_min(id, id, 2), max(id, 2), min(note, 2), max_by(id, id), arg_min_null(note, id), any_value(customer ORDER BY id) FROM orders

SELECT sum(i8), sum(i64), sum(u64), sum(f32), sum(dec), sum(flag::INTEGER), avg(i8), avg(dec), min(ts), max(day), min(span), max(id), min(list), max(nested), count(doc) FROM every_type WHERE i8 < 0 OR i8 IS NULL

SELECT customer, placed, count(*), sum(amount) FROM orders GROUP BY ROLLUP (customer, placed)

SELECT customer, note, count(*) FROM orders GROUP BY CUBE (customer, note)

SELECT customer, count(*) FROM orders GROUP BY GROUPING SETS ((customer), ())

SELECT customer, note, grouping(customer), grouping(customer, note), count(*) FROM orders GROUP BY GROUPING SETS ((customer, note), (note), ())

SELECT customer, count(*) FROM orders GROUP BY GROUPING SETS ((customer), (customer))

SELECT 'x' AS constant, customer, count(*) FROM orders GROUP BY ROLLUP ('x', customer)

SELECT customer % 2 AS p, grouping(customer % 2) AS g, count(*) FROM orders GROUP BY ROLLUP (customer % 2) HAVING count(*) > 1

SELECT max(total) FROM (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer)

SELECT o.id, t.total FROM orders o JOIN (SELECT customer, sum(amount) AS total FROM orders GROUP BY customer) t ON o.customer = t.customer

SELECT customer, list_transform(list(id ORDER BY id), lambda x: x + customer) FROM orders GROUP BY customer

SELECT customer, sum(CASE WHEN note = 'rush' THEN 1 ELSE 0 END), sum(amount * 2 + 1) FROM orders GROUP BY customer ORDER BY sum(amount)

SELECT name COLLATE NOCASE AS n, max(name COLLATE NOCASE) IS NULL, count(*) FROM customer GROUP BY 1 ORDER BY ALL

SELECT date_trunc('month', placed) AS month, sum(amount) FROM orders GROUP BY month ORDER BY month

SELECT sum(sum(amount)) OVER (), customer FROM orders GROUP BY customer

SELECT sum(DISTINCT amount), avg(DISTINCT amount), sum(amount) FROM orders

SELECT sum(amount) / count(*) AS average, round(avg(amount), 2) FROM orders GROUP BY customer

SELECT customer, min(id) AS first_id FROM orders GROUP BY customer HAVING min(id) > 1 AND customer IS NOT NULL

SELECT histogram_exact(id, [1, 2]), list(detail ORDER BY id), list(tags ORDER BY id) FROM orders

SELECT count(*) FROM (SELECT customer FROM orders GROUP BY customer) q WHERE customer > 1
