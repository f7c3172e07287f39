-- Pivots.
FROM (PIVOT orders ON customer IN (1, 2, 9) USING sum(amount) GROUP BY placed)

FROM (PIVOT orders ON customer IN (1, 2) USING count(*) AS n, max(note) AS m GROUP BY placed)

SELECT * FROM orders PIVOT (sum(amount) FOR customer IN (1, 2) GROUP BY note)

FROM (PIVOT orders ON customer IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25) USING sum(amount), count(*) AS n GROUP BY placed)

FROM (PIVOT orders ON customer IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25) USING entropy(note) GROUP BY placed)

FROM (UNPIVOT customer ON id, nation INTO NAME k VALUE v)

SELECT * FROM customer UNPIVOT INCLUDE NULLS (v FOR k IN (id, nation))
