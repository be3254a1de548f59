"""Run SQL on an installation: ``python run_installed.py WAREHOUSE`` prints the results as JSON.

It imports no test module, since its environment has only the package and PySpark.
"""

from __future__ import annotations

import json
import sys
from typing import Any

STATEMENTS = (
    "CREATE NAMESPACE versioned.db",
    "CREATE TABLE versioned.db.t (id BIGINT NOT NULL, day DATE, name STRING DEFAULT 'new', n DOUBLE) "
    "PARTITIONED BY (day, bucket(4, id))",
    "INSERT INTO versioned.db.t SELECT id, date_add(DATE'2026-01-01', CAST(id % 3 AS INT)), 'a', id / 2 "
    "FROM range(90)",
    "INSERT INTO versioned.db.t (id, day) VALUES (1000, DATE'2026-02-01')",
    "ALTER TABLE versioned.db.t RENAME COLUMN name TO label",
    "ALTER TABLE versioned.db.t ADD COLUMN s STRUCT<a: INT>",
    "MERGE INTO versioned.db.t t USING (SELECT 1L AS id UNION ALL SELECT 2000L) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET t.label = 'merged' "
    "WHEN NOT MATCHED THEN INSERT (id, label) VALUES (s.id, 'inserted')",
    "UPDATE versioned.db.t SET s = named_struct('a', 7) WHERE id = 2000",
    "DELETE FROM versioned.db.t WHERE id BETWEEN 10 AND 19",
    "INSERT OVERWRITE versioned.db.t PARTITION (day = DATE'2026-02-01') SELECT 1001, 'over', 1.5, NULL",
    "CREATE TABLE versioned.db.k (host STRING, n INT, PRIMARY KEY (host))",
    "INSERT INTO versioned.db.k VALUES ('a', 1), ('b', 2)",
    "INSERT INTO versioned.db.k VALUES ('a', 3)",
    "MERGE INTO versioned.db.k t USING (SELECT 'b' AS host) s ON t.host = s.host "
    "WHEN MATCHED THEN DELETE",
    "CREATE OR REPLACE TABLE versioned.db.c AS SELECT * FROM versioned.db.k",
    "CALL versioned.system.set_tag('db.t', 'good')",
)

QUERIES = {
    "count": "SELECT count(*) FROM versioned.db.t",
    "sum": "SELECT sum(id) FROM versioned.db.t",
    "merged": "SELECT id, label, s.a FROM versioned.db.t WHERE label LIKE '%er%ed' ORDER BY id",
    "overwritten": "SELECT id, label, n FROM versioned.db.t WHERE day = DATE'2026-02-01'",
    "past": "SELECT count(*), min(name) FROM versioned.db.t VERSION AS OF 1",
    "tag": "SELECT count(*) FROM versioned.db.t VERSION AS OF 'good'",
    "keyed": "SELECT * FROM versioned.db.k",
    "copied": "SELECT * FROM versioned.db.c",
    "history": "SELECT count(*) FROM versioned.db.t.history",
    "tables": "SHOW TABLES IN versioned.db",
    "partitions": "SELECT count(*) FROM versioned.db.t.partitions",
}


def main() -> None:
    """Run the statements, then the queries, then the data source, in one session."""
    import pyspark
    from pyspark.sql import SparkSession

    import pyspark_versioned

    builder: Any = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(key, value)
    spark = pyspark_versioned.configure(builder, sys.argv[1]).getOrCreate()
    for statement in STATEMENTS:
        spark.sql(statement)
    shown = {name: [list(r) for r in spark.sql(q).collect()] for name, q in QUERIES.items()}
    frame = spark.range(5).withColumnRenamed("id", "x")
    frame.write.format("versioned").mode("append").save(sys.argv[1] + "/alone")
    shown["source"] = [[spark.read.format("versioned").load(sys.argv[1] + "/alone").count()]]
    (scan,) = spark.sql("EXPLAIN SELECT * FROM versioned.db.t").collect()
    shown["native"] = [["native=" in scan[0]]]
    print(
        json.dumps(
            {"pyspark": pyspark.__version__, "from": pyspark_versioned.__file__, "shown": shown}
        )
    )
    spark.stop()


if __name__ == "__main__":
    main()
