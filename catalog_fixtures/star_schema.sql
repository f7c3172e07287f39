-- A retail star schema: facts arrive in batches, dimensions change slowly, a dimension is corrected backwards.
-- view sales: SELECT s.sale_id, c.city, p.category, t.region, s.quantity, s.quantity * p.price AS amount FROM sales s JOIN customers c ON s.customer_id = c.customer_id JOIN products p ON s.product_id = p.product_id JOIN stores t ON s.store_id = t.store_id
-- view dear_sales: SELECT s.sale_id, p.name FROM sales s, products p WHERE s.product_id = p.product_id AND p.price >= 20
-- view neighbours: SELECT a.customer_id AS one, b.customer_id AS other FROM customers a JOIN customers b ON a.city = b.city AND a.customer_id < b.customer_id

CREATE TABLE customers (customer_id INTEGER, city VARCHAR, since DATE);
CREATE TABLE products (product_id INTEGER, name VARCHAR, category VARCHAR, price DECIMAL(10, 2));
CREATE TABLE stores (store_id INTEGER, region VARCHAR);
CREATE TABLE sales (sale_id BIGINT, customer_id INTEGER, product_id INTEGER, store_id INTEGER, quantity INTEGER, day DATE);

INSERT INTO stores VALUES (1, 'north'), (2, 'south'), (3, NULL);
INSERT INTO customers SELECT i, 'city ' || (i % 7), DATE '2025-01-01' + i::INTEGER FROM range(40) r(i);
INSERT INTO products SELECT i, 'product ' || i, 'category ' || (i % 4), i * 1.5 FROM range(25) r(i);
INSERT INTO sales SELECT i, i % 40, i % 25, 1 + i % 3, 1 + i % 5, DATE '2025-06-01' + (i // 50)::INTEGER FROM range(300) r(i);

-- A day's batch, with a sale of an unknown customer and one of no customer.
INSERT INTO sales SELECT i, i % 40, i % 25, 1 + i % 3, 2, DATE '2025-06-08' FROM range(300, 340) r(i);
INSERT INTO sales VALUES (340, 99, 1, 1, 1, DATE '2025-06-08'), (341, NULL, 2, 2, 1, DATE '2025-06-08');

-- The unknown customer arrives later than his sale.
INSERT INTO customers VALUES (99, 'city 3', DATE '2025-06-09');

-- One customer moves, prices of a category rise, a store changes its region: all changes of dimensions.
UPDATE customers SET city = 'city 0' WHERE customer_id = 5;
UPDATE products SET price = price + 1 WHERE category = 'category 2';
UPDATE stores SET region = 'west' WHERE store_id = 3;

-- Facts and dimensions in one transaction.
BEGIN;
INSERT INTO products VALUES (25, 'product 25', NULL, 99.99);
INSERT INTO sales SELECT i, i % 40, 25, 2, 1, DATE '2025-06-10' FROM range(342, 350) r(i);
UPDATE customers SET city = NULL WHERE customer_id = 6;
COMMIT;

-- Returned goods, and a product that is taken out of the list although it was sold.
DELETE FROM sales WHERE sale_id % 50 = 7;
DELETE FROM products WHERE product_id = 3;
