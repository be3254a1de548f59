CREATE DATABASE IF NOT EXISTS versioned.hive;
CREATE TABLE versioned.hive.t USING versioned AS SELECT id, 'a' AS name FROM range(10);
ALTER TABLE versioned.hive.t RENAME COLUMN name TO label;
MERGE INTO versioned.hive.t t USING (SELECT 3L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE;
SELECT count(*) AS found, min(label) AS label FROM versioned.hive.t;
SHOW TABLES IN versioned.hive;
DESCRIBE versioned.hive.t;
