-- Every statement that docs/sql.md names, run in three places with the same results.
-- After a statement: --> a row of its result, columns separated by " | "; --! a part of its error.
-- A statement with neither must only succeed.

-- Namespaces
CREATE NAMESPACE versioned.shop COMMENT 'what we sell' WITH DBPROPERTIES ('team' = 'sales');
CREATE NAMESPACE IF NOT EXISTS versioned.shop;
CREATE NAMESPACE versioned.shop;
--! SCHEMA_ALREADY_EXISTS
CREATE NAMESPACE versioned.shop.eu;
CREATE NAMESPACE versioned.nowhere.eu;
--! nowhere
SHOW NAMESPACES IN versioned;
--> shop
SHOW NAMESPACES IN versioned.shop;
--> shop.eu
ALTER NAMESPACE versioned.shop SET DBPROPERTIES ('team' = 'store');
DESCRIBE NAMESPACE EXTENDED versioned.shop;
--> Catalog Name | versioned
--> Namespace Name | shop
--> Comment | what we sell
--> Properties | ((team,store))
DROP NAMESPACE versioned.nope;
--! SCHEMA_NOT_FOUND
DROP NAMESPACE IF EXISTS versioned.nope;

-- Creating tables
CREATE TABLE versioned.shop.item (id BIGINT NOT NULL COMMENT 'its number', name STRING, price DECIMAL(10,2) DEFAULT 9.99, size STRUCT<w: INT, h: INT>) COMMENT 'things' TBLPROPERTIES ('owner_team' = 'a', 'sort_by' = 'id');
CREATE TABLE versioned.shop.item (id INT);
--! TABLE_OR_VIEW_ALREADY_EXISTS
CREATE TABLE IF NOT EXISTS versioned.shop.item (other INT);
CREATE TABLE versioned.shop.eu.item (id INT) USING versioned;
CREATE TABLE versioned.shop.other (id INT) USING orc;
--! USING orc is not possible in this catalog
CREATE TABLE versioned.shop.other (id INT) LOCATION '/tmp/elsewhere';
--! leave out LOCATION
CREATE TABLE versioned.shop.other (id INT) OPTIONS ('a' = 'b');
--! write them as TBLPROPERTIES
CREATE TABLE versioned.nope.item (id INT);
--! SCHEMA_NOT_FOUND
CREATE TABLE versioned.shop.other (m INTERVAL YEAR);
--! can't be stored
CREATE TABLE versioned.shop.other (id INT) TBLPROPERTIES ('target_segment_bytes' = 'big');
--! target_segment_bytes
SHOW TABLES IN versioned.shop;
--> item
SHOW TABLES IN versioned.shop.eu;
--> item
SHOW TABLES IN versioned.nope;
--! SCHEMA_NOT_FOUND
SHOW COLUMNS IN versioned.shop.item;
--> id
--> name
--> price
--> size
DESCRIBE versioned.shop.item;
--> id | bigint | its number
--> name | string
--> price | decimal(10,2)
--> size | struct<w:int,h:int>
DESCRIBE versioned.shop.item price;
--> col_name | price
--> data_type | decimal(10,2)
--> comment | NULL
SHOW TBLPROPERTIES versioned.shop.item;
--> owner_team | a
--> sort_by | id
SHOW CREATE TABLE versioned.shop.eu.item;
--> CREATE TABLE versioned.shop.eu.item (
-->   id INT)
--> USING versioned
SELECT * FROM versioned.shop.item;
SELECT * FROM versioned.shop.nope;
--! TABLE_OR_VIEW_NOT_FOUND

-- Writing
INSERT INTO versioned.shop.item VALUES (1, 'cup', 2.50, named_struct('w', 8, 'h', 9));
INSERT INTO versioned.shop.item VALUES (2, 'bowl', DEFAULT, NULL);
INSERT INTO versioned.shop.item (name, id) VALUES ('jar', 3);
INSERT INTO versioned.shop.item BY NAME SELECT 'pan' AS name, 4L AS id;
INSERT INTO versioned.shop.item (name) VALUES ('nameless');
--! id
INSERT INTO versioned.shop.item VALUES (NULL, 'nobody', 1.0, NULL);
--! id
INSERT INTO versioned.shop.item VALUES (5);
--! INSERT_COLUMN_ARITY_MISMATCH
INSERT INTO versioned.shop.item VALUES (5, 'x', 'not a number', NULL);
--! CANNOT_SAFELY_CAST
SELECT id, name, price, size.w FROM versioned.shop.item ORDER BY id;
--> 1 | cup | 2.50 | 8
--> 2 | bowl | 9.99 | NULL
--> 3 | jar | 9.99 | NULL
--> 4 | pan | 9.99 | NULL
SELECT count(*), count(name), min(id), max(price) FROM versioned.shop.item;
--> 4 | 4 | 1 | 9.99
SELECT count(*) FROM versioned.shop.item WHERE price > 5;
--> 3
SELECT id FROM versioned.shop.item WHERE size.h = 9;
--> 1
SELECT count(*) FROM (SELECT * FROM versioned.shop.item LIMIT 2);
--> 2

-- Changing columns
ALTER TABLE versioned.shop.item ADD COLUMN stock INT DEFAULT 7;
ALTER TABLE versioned.shop.item ADD COLUMNS (a INT FIRST, b STRING AFTER id);
ALTER TABLE versioned.shop.item ADD COLUMN size.d INT;
ALTER TABLE versioned.shop.item ADD COLUMN kind STRING NOT NULL DEFAULT 'tool' COMMENT 'what it is';
ALTER TABLE versioned.shop.item ADD COLUMN must STRING NOT NULL;
--! must
ALTER TABLE versioned.shop.item ADD COLUMN name STRING;
--! FIELD_ALREADY_EXISTS
SELECT * EXCEPT (size) FROM versioned.shop.item WHERE id = 1;
--> NULL | 1 | NULL | cup | 2.50 | 7 | tool
SELECT to_json(size) FROM versioned.shop.item WHERE id = 1;
--> {"w":8,"h":9}
ALTER TABLE versioned.shop.item DROP COLUMN a;
ALTER TABLE versioned.shop.item DROP COLUMNS (b);
ALTER TABLE versioned.shop.item DROP COLUMN nope;
--! nope
ALTER TABLE versioned.shop.item DROP COLUMN IF EXISTS nope;
ALTER TABLE versioned.shop.item DROP COLUMN size.d;
ALTER TABLE versioned.shop.item RENAME COLUMN name TO title;
ALTER TABLE versioned.shop.item RENAME COLUMN size.w TO width;
ALTER TABLE versioned.shop.item RENAME COLUMN title TO id;
--! FIELD_ALREADY_EXISTS
ALTER TABLE versioned.shop.item ALTER COLUMN stock TYPE BIGINT;
ALTER TABLE versioned.shop.item ALTER COLUMN price TYPE DECIMAL(12,2);
ALTER TABLE versioned.shop.item ALTER COLUMN size.width TYPE BIGINT;
ALTER TABLE versioned.shop.item ALTER COLUMN stock TYPE INT;
--! "BIGINT" to `stock` with type "INT"
ALTER TABLE versioned.shop.item ALTER COLUMN stock TYPE STRING;
--! can't change from BIGINT to STRING
ALTER TABLE versioned.shop.item ALTER COLUMN price TYPE DECIMAL(13,3);
ALTER TABLE versioned.shop.item ALTER COLUMN price TYPE DECIMAL(13,4);
--! price
ALTER TABLE versioned.shop.item ALTER COLUMN stock FIRST;
ALTER TABLE versioned.shop.item ALTER COLUMN stock AFTER title;
ALTER TABLE versioned.shop.item ALTER COLUMN title COMMENT 'what it is called';
ALTER TABLE versioned.shop.item ALTER COLUMN stock SET DEFAULT 100;
ALTER TABLE versioned.shop.item ALTER COLUMN price DROP DEFAULT;
ALTER TABLE versioned.shop.item ALTER COLUMN stock SET NOT NULL;
ALTER TABLE versioned.shop.item ALTER COLUMN size SET NOT NULL;
--! size
ALTER TABLE versioned.shop.item ALTER COLUMN kind DROP NOT NULL;
ALTER TABLE versioned.shop.item SET TBLPROPERTIES ('a' = 'b', 'owner_team' = 'c');
ALTER TABLE versioned.shop.item UNSET TBLPROPERTIES ('a');
ALTER TABLE versioned.shop.item REPLACE COLUMNS (id BIGINT);
--! REPLACE COLUMNS would drop every column
SHOW TBLPROPERTIES versioned.shop.item ('owner_team');
--> owner_team | c
DESCRIBE versioned.shop.item;
--> id | bigint | its number
--> title | string | what it is called
--> stock | bigint
--> price | decimal(13,3)
--> size | struct<width:bigint,h:int>
--> kind | string | what it is
INSERT INTO versioned.shop.item (id, title) VALUES (5000000000, 'vase');
SELECT id, title, stock, price, size.width, kind FROM versioned.shop.item ORDER BY id;
--> 1 | cup | 7 | 2.500 | 8 | tool
--> 2 | bowl | 7 | 9.990 | NULL | tool
--> 3 | jar | 7 | 9.990 | NULL | tool
--> 4 | pan | 7 | 9.990 | NULL | tool
--> 5000000000 | vase | 100 | NULL | NULL | tool

-- Dropped values stay dropped; swapped names stay swapped
CREATE TABLE versioned.shop.t (a INT, b INT);
INSERT INTO versioned.shop.t VALUES (1, 10), (2, 20);
ALTER TABLE versioned.shop.t DROP COLUMN b;
ALTER TABLE versioned.shop.t ADD COLUMN b INT DEFAULT 999;
SELECT * FROM versioned.shop.t ORDER BY a;
--> 1 | 999
--> 2 | 999
SELECT count(*) FROM versioned.shop.t WHERE b = 10;
--> 0
SELECT count(*) FROM versioned.shop.t WHERE b > 500;
--> 2
SELECT min(b), max(b) FROM versioned.shop.t;
--> 999 | 999
ALTER TABLE versioned.shop.t RENAME COLUMN a TO tmp;
ALTER TABLE versioned.shop.t RENAME COLUMN b TO a;
ALTER TABLE versioned.shop.t RENAME COLUMN tmp TO b;
SELECT a, b FROM versioned.shop.t WHERE b = 1;
--> 999 | 1

-- Nested columns
CREATE TABLE versioned.shop.deep (id INT, tags ARRAY<STRUCT<k: STRING>>, attrs MAP<STRING, STRUCT<v: INT>>, s STRUCT<x: STRUCT<y: INT>>);
INSERT INTO versioned.shop.deep VALUES (1, array(named_struct('k', 'red')), map('a', named_struct('v', 1)), named_struct('x', named_struct('y', 5)));
ALTER TABLE versioned.shop.deep ADD COLUMN tags.element.n INT;
ALTER TABLE versioned.shop.deep ADD COLUMN attrs.value.w INT DEFAULT 3;
ALTER TABLE versioned.shop.deep ADD COLUMN s.x.z STRING FIRST;
ALTER TABLE versioned.shop.deep RENAME COLUMN tags.element.k TO color;
ALTER TABLE versioned.shop.deep ALTER COLUMN attrs.value.v TYPE BIGINT;
ALTER TABLE versioned.shop.deep ALTER COLUMN s.x.y AFTER z;
INSERT INTO versioned.shop.deep VALUES (2, array(named_struct('color', 'blue', 'n', 1)), map('b', named_struct('v', 5000000000L, 'w', 4)), named_struct('x', named_struct('z', 'q', 'y', 6)));
SELECT id, tags[0].color, tags[0].n, map_values(attrs)[0].v, map_values(attrs)[0].w, s.x.z, s.x.y FROM versioned.shop.deep ORDER BY id;
--> 1 | red | NULL | 1 | 3 | NULL | 5
--> 2 | blue | 1 | 5000000000 | 4 | q | 6

-- Time travel
CREATE TABLE versioned.shop.past (a INT);
INSERT INTO versioned.shop.past VALUES (1);
ALTER TABLE versioned.shop.past RENAME COLUMN a TO b;
INSERT INTO versioned.shop.past VALUES (2);
SELECT a FROM versioned.shop.past VERSION AS OF 1;
--> 1
SELECT b FROM versioned.shop.past VERSION AS OF 3 ORDER BY b;
--> 1
--> 2
SELECT count(*) FROM versioned.shop.past VERSION AS OF 0;
--> 0
SELECT count(*) FROM versioned.shop.past TIMESTAMP AS OF current_timestamp();
--> 2
SELECT x.n + y.n FROM (SELECT count(*) AS n FROM versioned.shop.past VERSION AS OF 1) x, (SELECT count(*) AS n FROM versioned.shop.past) y;
--> 3
SELECT * FROM versioned.shop.past VERSION AS OF 99;
--! has no version 99
SELECT * FROM versioned.shop.past VERSION AS OF 'stable';
--! has no tag 'stable'
SELECT * FROM versioned.shop.past TIMESTAMP AS OF '1990-01-01';
--! did not exist yet

-- Metadata columns
SELECT a, _sequence, _row_position < 2, _schema_version, _segment LIKE 'data/%.parquet', _commit_time <= current_timestamp() FROM versioned.shop.t ORDER BY b;
--> 999 | 1 | true | 0 | true | true
--> 999 | 1 | true | 0 | true | true

-- Partitions
CREATE TABLE versioned.shop.cpu (ts TIMESTAMP, host STRING, usage DOUBLE, n BIGINT) PARTITIONED BY (days(ts), host);
INSERT INTO versioned.shop.cpu VALUES (TIMESTAMP'2026-01-01 10:00:00', 'a', 1.0, 1), (TIMESTAMP'2026-01-02 10:00:00', 'a', 2.0, 2), (TIMESTAMP'2026-01-02 11:00:00', 'b', 3.0, 3), (NULL, NULL, NULL, NULL);
SELECT count(*), count(DISTINCT _segment) FROM versioned.shop.cpu;
--> 4 | 4
SELECT usage FROM versioned.shop.cpu WHERE host = 'a' AND ts >= TIMESTAMP'2026-01-02 00:00:00';
--> 2.0
CREATE TABLE versioned.shop.parts (y DATE, m DATE, h TIMESTAMP, b BIGINT, t STRING) PARTITIONED BY (years(y), months(m), hours(h), bucket(4, b), truncate(2, t));
INSERT INTO versioned.shop.parts VALUES (DATE'2020-05-05', DATE'2020-05-05', TIMESTAMP'2020-05-05 05:05:05', 34, 'hello');
SELECT b, t FROM versioned.shop.parts WHERE y = DATE'2020-05-05' AND t = 'hello';
--> 34 | hello
CREATE TABLE versioned.shop.other (a INT) PARTITIONED BY (days(a));
--! days
DESCRIBE versioned.shop.cpu;
--> ts | timestamp
--> host | string
--> usage | double
--> n | bigint
--> # Partitioning
--> Part 0 | days(ts)
--> Part 1 | host

-- Overwriting
CREATE TABLE versioned.shop.o (k STRING, v INT) PARTITIONED BY (k);
INSERT INTO versioned.shop.o VALUES ('a', 1), ('b', 2);
INSERT OVERWRITE versioned.shop.o VALUES ('c', 3);
SELECT * FROM versioned.shop.o ORDER BY k;
--> c | 3
INSERT INTO versioned.shop.o VALUES ('d', 4);
INSERT OVERWRITE versioned.shop.o PARTITION (k = 'c') SELECT 33;
SELECT * FROM versioned.shop.o ORDER BY k;
--> c | 33
--> d | 4
SET spark.sql.sources.partitionOverwriteMode=dynamic;
INSERT OVERWRITE versioned.shop.o VALUES ('d', 44), ('e', 5);
SELECT * FROM versioned.shop.o ORDER BY k;
--> c | 33
--> d | 44
--> e | 5
SET spark.sql.sources.partitionOverwriteMode=static;
SHOW PARTITIONS versioned.shop.o;
--> k=c
--> k=d
--> k=e
TRUNCATE TABLE versioned.shop.o;
SELECT count(*) FROM versioned.shop.o;
--> 0
SELECT count(*) FROM versioned.shop.o VERSION AS OF 2;
--> 1

-- Tables from queries, and in the place of others
CREATE TABLE versioned.shop.made AS SELECT id, id * 2 AS twice FROM range(5);
SELECT sum(twice) FROM versioned.shop.made;
--> 20
CREATE TABLE versioned.shop.made AS SELECT 1 AS x;
--! TABLE_OR_VIEW_ALREADY_EXISTS
CREATE TABLE IF NOT EXISTS versioned.shop.made AS SELECT 1 AS x;
CREATE TABLE versioned.shop.made2 PARTITIONED BY (k) TBLPROPERTIES ('a' = 'b') AS SELECT id % 2 AS k, id FROM range(4);
SELECT count(DISTINCT _segment) >= 2 FROM versioned.shop.made2;
--> true
CREATE OR REPLACE TABLE versioned.shop.made AS SELECT 'new' AS word;
SELECT * FROM versioned.shop.made;
--> new
SELECT count(*) FROM versioned.shop.made VERSION AS OF 0;
--> 5
REPLACE TABLE versioned.shop.made (n INT DEFAULT 4);
SELECT * FROM versioned.shop.made;
INSERT INTO versioned.shop.made VALUES (DEFAULT);
SELECT * FROM versioned.shop.made;
--> 4
REPLACE TABLE versioned.shop.nope AS SELECT 1 AS x;
--! TABLE_OR_VIEW_NOT_FOUND
CREATE OR REPLACE TABLE versioned.shop.fresh AS SELECT 1 AS x;
SELECT * FROM versioned.shop.fresh;
--> 1
CREATE TABLE versioned.shop.copied AS SELECT * FROM versioned.shop.made;
INSERT INTO versioned.shop.copied VALUES (DEFAULT);
SELECT n FROM versioned.shop.copied ORDER BY n NULLS FIRST;
--> NULL
--> 4

-- All types
CREATE TABLE versioned.shop.types (b BOOLEAN, y TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(20,4), st STRING, c CHAR(4), v VARCHAR(5), bin BINARY, dt DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, iv INTERVAL DAY TO SECOND, va VARIANT);
INSERT INTO versioned.shop.types VALUES (true, 1, 2, 3, 4, 1.5, double('NaN'), 1.25, 'é', 'ab', 'abc', X'01FF', DATE'1500-01-01', TIMESTAMP'1500-01-01 12:00:00', TIMESTAMP_NTZ'2020-01-01 00:00:00', INTERVAL '1 02:03:04' DAY TO SECOND, parse_json('{"a": 1}'));
SELECT b, y, s, i, l, f, d, dec, st, concat(c, '.'), v, hex(bin), dt, cast(ts AS STRING), cast(n AS STRING), cast(iv AS STRING), variant_get(va, '$.a', 'int') FROM versioned.shop.types;
--> true | 1 | 2 | 3 | 4 | 1.5 | NaN | 1.2500 | é | ab  . | abc | 01FF | 1500-01-01 | 1500-01-01 12:00:00 | 2020-01-01 00:00:00 | INTERVAL '1 02:03:04' DAY TO SECOND | 1
INSERT INTO versioned.shop.types (c) VALUES ('too long');
--! EXCEED_LIMIT_LENGTH
ALTER TABLE versioned.shop.types ALTER COLUMN c TYPE VARCHAR(4);
ALTER TABLE versioned.shop.types ALTER COLUMN v TYPE STRING;
ALTER TABLE versioned.shop.types ALTER COLUMN dt TYPE TIMESTAMP_NTZ;
ALTER TABLE versioned.shop.types ALTER COLUMN y TYPE DOUBLE;
ALTER TABLE versioned.shop.types ALTER COLUMN dec TYPE DECIMAL(30,6);
SELECT y, v, cast(dt AS STRING), dec FROM versioned.shop.types WHERE y = 1 AND dec = 1.25;
--> 1.0 | abc | 1500-01-01 00:00:00 | 1.250000

-- Odd names
CREATE TABLE versioned.shop.`odd name` (`a.b` INT, `x y` STRING, `ünï` INT, `select` INT);
INSERT INTO versioned.shop.`odd name` VALUES (1, 'z', 3, 4);
ALTER TABLE versioned.shop.`odd name` RENAME COLUMN `a.b` TO `c.d`;
SELECT `c.d`, `x y`, `ünï`, `select` FROM versioned.shop.`odd name` WHERE `c.d` = 1;
--> 1 | z | 3 | 4
DROP TABLE versioned.shop.`odd name`;

-- Names
ALTER TABLE versioned.shop.fresh RENAME TO versioned.shop.eu.fresh;
SELECT * FROM versioned.shop.eu.fresh;
--> 1
ALTER TABLE versioned.shop.eu.fresh RENAME TO versioned.shop.eu.item;
--! item
DROP TABLE versioned.shop.eu.fresh PURGE;
DROP TABLE versioned.shop.eu.fresh;
--! TABLE_OR_VIEW_NOT_FOUND
DROP TABLE IF EXISTS versioned.shop.eu.fresh;
USE versioned.shop.eu;
SHOW TABLES;
--> item

-- Rows
CREATE TABLE versioned.shop.row (id INT NOT NULL, name STRING DEFAULT 'none', day DATE) PARTITIONED BY (day);
INSERT INTO versioned.shop.row VALUES (1, 'a', DATE'2026-01-01'), (2, 'b', DATE'2026-01-01'), (3, 'c', DATE'2026-01-02'), (4, NULL, NULL);
ALTER TABLE versioned.shop.row ADD COLUMN size INT DEFAULT 7;
INSERT INTO versioned.shop.row VALUES (5, 'e', DATE'2026-01-03', 1);
DELETE FROM versioned.shop.row WHERE day = DATE'2026-01-02';
SELECT operation, rows_added, segments_removed FROM versioned.shop.row.history WHERE version = 4;
--> delete | 0 | 1
DELETE FROM versioned.shop.row WHERE id % 2 = 0 AND name IS NOT NULL;
SELECT * FROM versioned.shop.row ORDER BY id;
--> 1 | a | 2026-01-01 | 7
--> 4 | NULL | NULL | 7
--> 5 | e | 2026-01-03 | 1
DELETE FROM versioned.shop.row WHERE id = 77;
SELECT max(version) FROM versioned.shop.row.history;
--> 5
UPDATE versioned.shop.row SET size = size + id, name = DEFAULT WHERE id >= 4;
SELECT * FROM versioned.shop.row ORDER BY id;
--> 1 | a | 2026-01-01 | 7
--> 4 | none | NULL | 11
--> 5 | none | 2026-01-03 | 6
UPDATE versioned.shop.row SET name = 'z' WHERE id IN (SELECT id + 1 FROM versioned.shop.row WHERE id = 4);
SELECT id, name FROM versioned.shop.row ORDER BY id;
--> 1 | a
--> 4 | none
--> 5 | z
UPDATE versioned.shop.row SET id = NULL WHERE id = 1;
--! NOT_NULL_ASSERT_VIOLATION
UPDATE versioned.shop.row SET nope = 1;
--! nope
MERGE INTO versioned.shop.row t USING (SELECT 1 AS id, 'm' AS name UNION ALL SELECT 9, 'n') s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name) WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.size = 0;
SELECT * FROM versioned.shop.row ORDER BY id;
--> 1 | m | 2026-01-01 | 7
--> 5 | z | 2026-01-03 | 0
--> 9 | n | NULL | 7
MERGE INTO versioned.shop.row t USING (SELECT 1 AS id UNION ALL SELECT 1) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'twice';
--! MERGE_CARDINALITY_VIOLATION
MERGE INTO versioned.shop.row t USING (SELECT 5 AS id UNION ALL SELECT 6) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
SELECT id, name, size FROM versioned.shop.row ORDER BY id;
--> 1 | m | 7
--> 5 | z | 0
--> 6 | none | 7
--> 9 | n | 7
INSERT INTO versioned.shop.row REPLACE WHERE id > 5 SELECT 10, 'r', DATE'2026-01-01', 2;
SELECT id, name, size FROM versioned.shop.row ORDER BY id;
--> 1 | m | 7
--> 5 | z | 0
--> 10 | r | 2
DELETE FROM versioned.shop.row VERSION AS OF 1 WHERE id = 1;
--! PARSE_SYNTAX_ERROR

-- Schema evolution
INSERT WITH SCHEMA EVOLUTION INTO versioned.shop.row BY NAME SELECT 11 AS id, 2.5D AS weight;
SELECT id, size, weight FROM versioned.shop.row WHERE id > 5 ORDER BY id;
--> 10 | 2 | NULL
--> 11 | 7 | 2.5
MERGE WITH SCHEMA EVOLUTION INTO versioned.shop.row t USING (SELECT 10 AS id, 3000000000 AS size, true AS good) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;
SELECT id, size, good FROM versioned.shop.row WHERE id > 5 ORDER BY id;
--> 10 | 3000000000 | true
--> 11 | 7 | NULL
EXPLAIN MERGE WITH SCHEMA EVOLUTION INTO versioned.shop.row t USING (SELECT 10 AS id, 1 AS other) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;
MERGE WITH SCHEMA EVOLUTION INTO versioned.shop.row t USING (SELECT 10 AS id, 1 AS other UNION ALL SELECT 10, 2) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;
--! MERGE_CARDINALITY_VIOLATION
SELECT path, type, column_id FROM versioned.shop.row.schemas WHERE schema_version = 3;
--> id | INT | 1
--> name | STRING | 2
--> day | DATE | 3
--> size | BIGINT | 4
--> weight | DOUBLE | 5
--> good | BOOLEAN | 6

-- Metadata tables
SELECT schema_version, rows FROM versioned.shop.row.segments WHERE rows > 5;
SELECT operation, segments FROM versioned.shop.row.snapshots WHERE version < 3;
--> create | 0
--> append | 3
--> alter | 3
SELECT operation FROM versioned.shop.row.snapshots VERSION AS OF 1;
--> create
--> append
SELECT rows, segments FROM versioned.shop.row.partitions WHERE partition[0] = '20456';
--> 1 | 1
SELECT * FROM versioned.shop.row.nothing;
--! TABLE_OR_VIEW_NOT_FOUND

-- Procedures
CALL versioned.system.set_tag(table => 'shop.row', tag => 'first', version => 1);
--> first | 1 | 13
SELECT id FROM versioned.shop.row VERSION AS OF 'first' ORDER BY id;
--> 1
--> 2
--> 3
--> 4
CALL versioned.system.rollback_to_version(table => 'shop.row', version => 1);
--> 13 | 14 | ["column size is removed: size BIGINT DEFAULT 7","column weight is removed: weight DOUBLE","column good is removed: good BOOLEAN"]
SELECT * FROM versioned.shop.row WHERE id > 2 ORDER BY id;
--> 3 | c | 2026-01-02
--> 4 | NULL | NULL
CALL versioned.system.drop_tag('versioned.shop.row', 'first');
--> first | 15
SELECT id FROM versioned.shop.row VERSION AS OF 'first';
--! has no tag 'first'
CALL versioned.system.rollback_to_version(table => 'shop.row', version => 99);
--! has no version 99
CALL versioned.system.rollback_to_timestamp(table => 'shop.row', timestamp => TIMESTAMP'1990-01-01');
--! did not exist yet
CALL versioned.system.rollback_to_version(table => 'shop.nope', version => 1);
--! shop.nope
CALL versioned.system.rollback_to_version(tabel => 'shop.row', version => 1);
--! tabel
CALL versioned.system.shrink('shop.t');
--! there is no procedure system.shrink

ANALYZE TABLE versioned.shop.t COMPUTE STATISTICS;

-- What is refused
SELECT versioned.shop.f(1);
--! f

-- The end
DROP NAMESPACE versioned.shop;
--! SCHEMA_NOT_EMPTY
DROP NAMESPACE versioned.shop CASCADE;
SHOW NAMESPACES IN versioned;
