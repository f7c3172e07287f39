-- Window functions.
SELECT id, row_number() OVER (ORDER BY id, note, tags) FROM orders

SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY placed) FROM orders

SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY placed ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES) FROM orders

SELECT id, sum(id) OVER (ORDER BY id RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING), sum(id) OVER (ORDER BY id DESC RANGE BETWEEN 2 PRECEDING AND CURRENT ROW), sum(id) OVER (ORDER BY id RANGE UNBOUNDED PRECEDING) FROM orders

SELECT id, count(*) OVER (ORDER BY placed RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND INTERVAL 40 DAY FOLLOWING) FROM orders

SELECT id, sum(amount) OVER (ORDER BY amount RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM orders

SELECT id, count(*) OVER (ORDER BY customer GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE GROUP), count(*) OVER (ORDER BY customer GROUPS 2 PRECEDING) FROM orders

SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM orders

SELECT id, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, ntile(3) OVER (ORDER BY id, placed) FROM orders WINDOW w AS (ORDER BY customer)

SELECT id, lag(id) OVER w, lag(id, 2, 0) OVER w, lead(note, 1) OVER w, lag(customer IGNORE NULLS) OVER w, first_value(note IGNORE NULLS) OVER w, last_value(id) OVER w, nth_value(id, 2) OVER w FROM (SELECT DISTINCT * FROM orders) WINDOW w AS (ORDER BY id)

SELECT id, first_value(note ORDER BY id DESC) OVER (PARTITION BY customer), rank(ORDER BY id) OVER (PARTITION BY customer) FROM (SELECT DISTINCT * FROM orders)

SELECT id, count(DISTINCT customer) OVER (), sum(amount) FILTER (WHERE id > 2) OVER (PARTITION BY customer), string_agg(note, '-') OVER (ORDER BY id ROWS 1 PRECEDING), list(id) OVER (ORDER BY id), quantile_cont(amount, 0.25) OVER (PARTITION BY customer) FROM (SELECT DISTINCT * FROM orders)

SELECT id, amount FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY id DESC) = 1

SELECT id, sum(amount) OVER (PARTITION BY customer) AS total FROM orders QUALIFY total > 3

SELECT total + 1 AS more, id FROM (SELECT id, sum(amount) OVER (PARTITION BY customer) AS total FROM orders) WHERE total > 3

SELECT customer, rank() OVER (ORDER BY sum(amount) DESC NULLS LAST, customer) FROM orders GROUP BY customer

SELECT id, sum(id) OVER (PARTITION BY customer) - avg(id) OVER () AS gap FROM orders

SELECT id, fill(amount) OVER (ORDER BY id) FROM (SELECT DISTINCT id, amount FROM orders)

SELECT id, arg_max(note, id) OVER (ORDER BY id), max(placed) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING), min(id) OVER (ORDER BY placed NULLS FIRST) FROM orders

SELECT id, count(*) OVER (PARTITION BY name COLLATE NOCASE ORDER BY name COLLATE NOCASE) FROM customer

SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN 1 + 1 PRECEDING AND id FOLLOWING) FROM (SELECT DISTINCT id FROM orders)

SELECT id, row_number() OVER (ORDER BY id, note, tags) AS rn FROM orders WHERE customer IS NOT NULL ORDER BY rn DESC LIMIT 2

SELECT id, lead(id, customer, 0) OVER (ORDER BY id) FROM (SELECT DISTINCT id, customer FROM orders)
