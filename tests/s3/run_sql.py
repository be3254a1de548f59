"""Run SQL on tables in S3 or another store, with its own jars, and print the results as JSON."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

from pyspark.sql import SparkSession

from jar import built_jar
from pyspark_versioned import configure
from s3.hadoop_aws import PACKAGES

STATEMENTS = (
    "CREATE NAMESPACE versioned.n",
    "CREATE TABLE versioned.n.t (id BIGINT, b STRING)",
    "INSERT INTO versioned.n.t SELECT id, 'old' FROM range(1000)",
    "ALTER TABLE versioned.n.t DROP COLUMN b",
    "ALTER TABLE versioned.n.t ADD COLUMN b STRING DEFAULT 'none'",
    "INSERT INTO versioned.n.t SELECT id, 'new' FROM range(1000, 1010)",
    "UPDATE versioned.n.t SET b = 'five' WHERE id = 5",
    "DELETE FROM versioned.n.t WHERE id < 3",
    "MERGE INTO versioned.n.t t USING (SELECT explode(array(3, 5000)) id) s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, 'merged')",
    "CREATE TABLE versioned.n.u AS SELECT * FROM versioned.n.t WHERE id < 10",
    "CREATE TABLE versioned.n.m TBLPROPERTIES ('row_changes' = 'mark') AS SELECT /*+ COALESCE(1) */ * "
    "FROM range(100000)",
    "DELETE FROM versioned.n.m WHERE id % 3 = 0",
    "UPDATE versioned.n.m SET id = -id WHERE id BETWEEN 20000 AND 79999",
)
COUNTED = "SELECT b, count(*) AS rows, sum(id) AS ids FROM versioned.n.t GROUP BY b ORDER BY b"
MARKED = "SELECT count(*), sum(id) FROM versioned.n.m WHERE id < 90000"
"""The marks of so many rows are in a file."""
FILTERED = "SELECT id FROM versioned.n.t WHERE b = 'five'"


def main() -> None:
    io, warehouse, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    spark = session(io, warehouse, options)
    for statement in STATEMENTS:
        spark.sql(statement)
    url = f"{warehouse}/n/t"
    storage = {f"storage.{key}": value for key, value in options.items()}
    source = spark.read.format("versioned").options(**storage)
    rows = spark.range(2).selectExpr("id + 9000 AS id", "'source' AS b")
    rows.write.format("versioned").mode("append").options(**storage).save(url)
    results = {
        "counted": [list(row) for row in spark.sql(COUNTED).collect()],
        "filtered": [row.id for row in spark.sql(FILTERED).collect()],
        "copied": spark.table("versioned.n.u").count(),
        "marked": [list(row) for row in spark.sql(MARKED).collect()],
        "source": source.load(url).count(),
        "past": source.option("versionAsOf", 1).load(url).select("b").distinct().first()[0],
        "plan": plan(spark.sql(FILTERED)),
        "plan_of_source": plan(source.load(url)),
        "plan_of_marked": plan(spark.sql(MARKED)),
    }
    print(json.dumps(results), flush=True)
    spark.stop()


def session(io: str, warehouse: str, options: dict[str, Any]) -> SparkSession:
    assert version("pyspark").startswith("4.3"), "another Spark has another Hadoop"
    built_jar()
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", False)
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", 2)
    )
    if io == "native" and warehouse.startswith("s3://"):
        builder = builder.config("spark.jars.packages", PACKAGES)
        builder = builder.config("spark.jars.excludes", "software.amazon.awssdk:bundle")
    return configure(builder, warehouse, storage_options=options).getOrCreate()


def plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


if __name__ == "__main__":
    main()
