-- The demo's lake: a small retailer, with a past. Every statement is a commit of its own, so a snapshot of the lake.
CREATE TABLE stores (store_id INTEGER, store_name VARCHAR, region VARCHAR);
CREATE TABLE products (product_id INTEGER, product_name VARCHAR, category VARCHAR, price DECIMAL(8,2));
CREATE TABLE customers (customer_id INTEGER, customer_name VARCHAR, segment VARCHAR, city VARCHAR);
CREATE TABLE orders (order_id INTEGER, order_date DATE, customer_id INTEGER, product_id INTEGER, store_id INTEGER, quantity INTEGER);

INSERT INTO stores
SELECT i, 'Store ' || i, (['north', 'east', 'south', 'west'])[i % 4 + 1] FROM range(1, 13) stores(i);

INSERT INTO products
SELECT i, 'Product ' || i, (['coffee', 'tea', 'cocoa', 'cups', 'filters'])[i % 5 + 1], 2.50 + i % 17 * 1.25
FROM range(1, 61) products(i);

INSERT INTO customers
SELECT i, 'Customer ' || i, CASE WHEN i * 37 % 11 < 2 THEN 'business' ELSE 'private' END,
       (['Lyon', 'Porto', 'Ghent', 'Turin', 'Bergen', NULL])[i % 6 + 1]
FROM range(1, 401) customers(i);

-- The winter's orders.
INSERT INTO orders
SELECT i, DATE '2026-01-01' + CAST(i % 90 AS INTEGER), i * 7919 % 400 + 1, i * 104729 % 60 + 1, i * 31 % 12 + 1, i % 9 + 1
FROM range(1, 4001) orders(i);

-- Coffee became dearer, some orders were cancelled, two customers moved.
UPDATE products SET price = price + 0.40 WHERE category = 'coffee';
DELETE FROM orders WHERE order_id % 97 = 0;
UPDATE customers SET city = 'Porto' WHERE customer_id IN (12, 345);

-- The spring's orders.
INSERT INTO orders
SELECT i, DATE '2026-04-01' + CAST(i % 30 AS INTEGER), i * 7919 % 400 + 1, i * 104729 % 60 + 1, i * 31 % 12 + 1, i % 9 + 1
FROM range(4001, 5001) orders(i);
