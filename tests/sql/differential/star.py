"""A star schema of four tables with a history of ALTERs and row changes, and queries on it.

``ROWS`` has the same rows as SELECTs without a history.
"""

from __future__ import annotations

HISTORY = """
CREATE TABLE @sales (ticket BIGINT, sold DATE, item INT, store INT, qty SMALLINT, price
  DECIMAL(7,2))
  PARTITIONED BY (sold);
INSERT INTO @sales SELECT id, DATE'2001-01-01' + INT(id % 10), INT(id % 37), INT(id % 5),
  SMALLINT(id % 9),
  CAST(id % 100 * 1.25 AS DECIMAL(7,2)) FROM range(0, 200);
ALTER TABLE @sales ADD COLUMN customer BIGINT DEFAULT -1 AFTER sold;
INSERT INTO @sales SELECT id, DATE'2001-01-01' + INT(id % 10), id % 23, INT(id % 37), INT(id % 5),
  SMALLINT(id % 9), CAST(id % 100 * 1.25 AS DECIMAL(7,2)) FROM range(200, 400);
ALTER TABLE @sales RENAME COLUMN qty TO quantity;
ALTER TABLE @sales ALTER COLUMN quantity TYPE INT;
ALTER TABLE @sales ALTER COLUMN price TYPE DECIMAL(12,2);
ALTER TABLE @sales ADD COLUMNS (tags ARRAY<STRING>, ship STRUCT<mode: STRING, days: INT>);
INSERT INTO @sales SELECT id, DATE'2001-01-01' + INT(id % 20), IF(id % 7 = 0, NULL, id % 23), INT(id
  % 37),
  INT(id % 5), INT(id % 9), id % 100 * 1.25, IF(id % 3 = 0, array('web', 'gift'), array()),
  IF(id % 4 = 0, NULL, named_struct('mode', IF(id % 2 = 0, 'air', 'sea'), 'days', INT(id % 6)))
  FROM range(400, 600);
ALTER TABLE @sales RENAME COLUMN ship.mode TO way;
DELETE FROM @sales WHERE item = 7 AND sold < DATE'2001-01-05';
UPDATE @sales SET price = price + 1 WHERE store = 3;

CREATE TABLE @items (item INT, category STRING, brand VARCHAR(10), PRIMARY KEY (item));
INSERT INTO @items SELECT INT(id), concat('c', id % 4), concat('b', id % 6) FROM range(30);
ALTER TABLE @items ADD COLUMN size CHAR(2) DEFAULT 'S';
INSERT INTO @items SELECT INT(id), concat('c', id % 4), 'new', 'XL' FROM range(0, 37, 3);
DELETE FROM @items WHERE item = 6;
UPDATE @items SET category = NULL WHERE item = 8;

CREATE TABLE @customers (customer INT NOT NULL, state CHAR(2), born DATE, visited TIMESTAMP)
  PARTITIONED BY (bucket(4, customer));
INSERT INTO @customers SELECT INT(id), element_at(array('CA', 'NY', 'T'), INT(id % 3) + 1),
  DATE'1570-01-01' + INT(id * 300), TIMESTAMP'2001-01-01 00:00:00Z' + make_dt_interval(0, INT(id))
  FROM range(15);
ALTER TABLE @customers ALTER COLUMN customer TYPE BIGINT;
ALTER TABLE @customers ALTER COLUMN state TYPE STRING;
ALTER TABLE @customers DROP COLUMN visited;
ALTER TABLE @customers ADD COLUMN visited TIMESTAMP;
INSERT INTO @customers SELECT id, IF(id = 20, NULL, 'CA'), NULL,
  TIMESTAMP'2001-03-25 00:00:00Z' + make_dt_interval(0, INT(id)) FROM range(15, 25);
MERGE INTO @customers o USING (SELECT 3L AS customer, 'WA' AS state UNION ALL SELECT 30L, 'WA') s
  ON o.customer = s.customer WHEN MATCHED THEN UPDATE SET state = s.state
  WHEN NOT MATCHED THEN INSERT (customer, state) VALUES (s.customer, s.state);

CREATE TABLE @days (day DATE, month INT, weekend BOOLEAN);
INSERT INTO @days SELECT DATE'2001-01-01' + INT(id), INT(id DIV 10), id % 7 > 4 FROM range(20)
"""

ROWS = {
    "sales": """
SELECT id AS ticket, DATE'2001-01-01' + INT(IF(id < 400, id % 10, id % 20)) AS sold,
  CASE WHEN id < 200 THEN -1 WHEN id < 400 OR id % 7 != 0 THEN id % 23 END AS customer,
  INT(id % 37) AS item, INT(id % 5) AS store, INT(id % 9) AS quantity,
  CAST(id % 100 * 1.25 + IF(id % 5 = 3, 1, 0) AS DECIMAL(12,2)) AS price,
  IF(id < 400, NULL, IF(id % 3 = 0, array('web', 'gift'), array())) AS tags,
  IF(id < 400 OR id % 4 = 0, NULL,
     named_struct('way', IF(id % 2 = 0, 'air', 'sea'), 'days', INT(id % 6))) AS ship
FROM range(600) WHERE NOT (id % 37 = 7 AND IF(id < 400, id % 10, id % 20) < 4)""",
    "items": """
SELECT INT(id) AS item, IF(id = 8, NULL, concat('c', id % 4)) AS category,
  IF(id % 3 = 0, 'new', concat('b', id % 6)) AS brand, IF(id % 3 = 0, 'XL', 'S ') AS size
FROM range(37) WHERE (id < 30 OR id % 3 = 0) AND id != 6""",
    "customers": """
SELECT id AS customer, CASE WHEN id IN (3, 30) THEN 'WA' WHEN id = 20 THEN NULL WHEN id >= 15 THEN
  'CA'
    ELSE element_at(array('CA', 'NY', 'T '), INT(id % 3) + 1) END AS state,
  IF(id < 15, DATE'1570-01-01' + INT(id * 300), NULL) AS born,
  IF(id BETWEEN 15 AND 24, TIMESTAMP'2001-03-25 00:00:00Z' + make_dt_interval(0, INT(id)), NULL)
  AS visited
FROM range(31) WHERE id < 25 OR id = 30""",
    "days": """
SELECT DATE'2001-01-01' + INT(id) AS day, INT(id DIV 10) AS month, id % 7 > 4 AS weekend FROM
  range(20)""",
}

QUERIES = """
SELECT * FROM @sales;
SELECT * FROM @items;
SELECT * FROM @customers;
SELECT d.month, i.brand, sum(s.price) AS total FROM @days d JOIN @sales s ON s.sold = d.day
  JOIN @items i ON s.item = i.item WHERE d.weekend AND i.category = 'c1' GROUP BY d.month, i.brand;
SELECT i.category, avg(s.quantity) AS a1, avg(s.price) AS a2 FROM @sales s JOIN @items i USING
  (item)
  JOIN @customers c ON s.customer = c.customer WHERE c.state = 'CA' GROUP BY i.category;
SELECT c.customer FROM @customers c WHERE EXISTS (SELECT 1 FROM @sales s JOIN @days d ON s.sold =
  d.day
  WHERE s.customer = c.customer AND d.month = 1) AND c.state IS NOT NULL;
SELECT s.store, count(DISTINCT s.customer) AS n FROM @sales s WHERE s.price > 1.2 *
  (SELECT avg(p.price) FROM @sales p WHERE p.store = s.store) GROUP BY s.store;
SELECT category, item, revenue, revenue * 100 / sum(revenue) OVER (PARTITION BY category) AS share
  FROM
  (SELECT i.category, s.item, sum(s.price) AS revenue FROM @sales s JOIN @items i ON s.item = i.item
   WHERE s.sold BETWEEN DATE'2001-01-03' AND DATE'2001-01-09' GROUP BY i.category, s.item);
SELECT store, sold, total, rank() OVER (PARTITION BY store ORDER BY total DESC) AS r FROM
  (SELECT store, sold, sum(price) AS total FROM @sales GROUP BY store, sold) ORDER BY store, r
  LIMIT 10;
WITH best AS (SELECT store, max(t) AS m FROM (SELECT store, sold, sum(price) AS t FROM @sales
    GROUP BY store, sold) GROUP BY store)
  SELECT s.ticket, b.m FROM @sales s JOIN best b ON s.store = b.store WHERE s.price > b.m / 100;
SELECT store, month, sum(price) AS total, grouping(store) AS gs, grouping(month) AS gm FROM @sales
  JOIN @days ON sold = day GROUP BY ROLLUP (store, month);
SELECT category, size, count(*) AS n FROM @items GROUP BY CUBE (category, size) HAVING count(*) > 1;
SELECT customer FROM @sales INTERSECT SELECT customer FROM @customers;
SELECT customer FROM @customers EXCEPT SELECT customer FROM @sales WHERE customer IS NOT NULL;
SELECT customer FROM @customers WHERE customer NOT IN (SELECT customer FROM @sales
  WHERE customer IS NOT NULL);
SELECT c.state, count(*) AS n FROM @customers c LEFT ANTI JOIN @sales s ON c.customer = s.customer
  GROUP BY c.state;
SELECT sum(IF(weekend, price, 0)) AS weekend, sum(IF(NOT weekend, price, 0)) AS week, count(*)
  FILTER (WHERE ship.way = 'air') AS air FROM @sales JOIN @days ON sold = day;
SELECT * FROM (SELECT store, weekend, price FROM @sales JOIN @days ON sold = day) PIVOT (sum(price)
  FOR weekend IN (true, false));
SELECT tag, count(*) AS n, sum(quantity) AS q FROM @sales LATERAL VIEW explode(tags) AS tag GROUP BY
  tag;
SELECT ship.way, ship.days, count(*) AS n FROM @sales WHERE ship.days >= 3 OR ship.way = 'sea' GROUP
  BY ship.way, ship.days;
SELECT s.ticket, s.ship.days, i.size FROM @sales s JOIN @items i ON s.item = i.item AND i.size =
  'XL' WHERE s.ship.days = 5;
SELECT a.item, b.item AS other, count(*) AS n FROM @sales a JOIN @sales b ON a.customer = b.customer
  AND a.item < b.item
  AND a.sold = b.sold WHERE a.customer > 20 GROUP BY a.item, b.item;
SELECT count(*) AS n, count(customer) AS c, min(sold) AS s, max(price) AS p FROM @sales;
SELECT min(born) AS b, max(born) AS c, min(visited) AS v, max(customer) AS d, count(state) AS n FROM
  @customers;
SELECT customer, born FROM @customers WHERE born BETWEEN DATE'1582-10-01' AND DATE'1582-12-31' OR
  year(born) = 1571;
SELECT customer, CAST(visited AS DATE) AS day, hour(visited) AS h FROM @customers WHERE visited >=
  TIMESTAMP'2001-03-25 02:30:00';
SELECT state, count(*) AS n FROM @customers WHERE state IN ('CA', 'T', 'T ') GROUP BY state;
SELECT i.brand, i.size, s.n FROM @items i LEFT JOIN (SELECT item, count(*) AS n FROM @sales WHERE
  sold = DATE'2001-01-02'
  GROUP BY item) s ON i.item = s.item WHERE i.item BETWEEN 5 AND 12;
SELECT * FROM @sales WHERE customer = -1 AND quantity > 5 ORDER BY ticket DESC LIMIT 7;
SELECT ticket, lag(price, 1, 0) OVER (PARTITION BY customer ORDER BY ticket) AS before,
  sum(price) OVER (PARTITION BY customer ORDER BY sold RANGE BETWEEN INTERVAL 3 DAYS PRECEDING AND
  CURRENT ROW) AS r
  FROM @sales WHERE store != 2;
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY item ORDER BY sold DESC, ticket DESC) AS r
  FROM @sales) WHERE r = 1;
SELECT c.customer, s.total FROM @customers c, LATERAL (SELECT sum(price) AS total FROM @sales WHERE
  customer = c.customer) s;
SELECT m.month, (SELECT max(price) FROM @sales s WHERE s.sold = m.day) AS top FROM @days m WHERE
  m.weekend;
SELECT sold, percentile(price, 0.5) AS p FROM @sales GROUP BY sold;
SELECT DISTINCT i.category FROM @items i FULL JOIN @sales s ON i.item = s.item WHERE s.ticket IS
  NULL OR i.item IS NULL;
SELECT s.sold, count(*) AS n FROM @sales s WHERE s.sold IN (SELECT day FROM @days WHERE month = 1)
  GROUP BY s.sold;
SELECT s.store, s.customer FROM @sales s JOIN @days d ON s.sold = d.day JOIN @customers c ON
  c.customer = s.customer
  WHERE d.day = DATE'2001-01-04' AND c.born < DATE'1580-01-01'
"""


def statements(text: str) -> list[str]:
    """Split a text into statements."""
    return [" ".join(one.split()) for one in text.split(";") if one.strip()]
