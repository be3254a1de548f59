"""An application of Spark with OpenLineage's own listener: python run_spark_lineage.py FOLDER."""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession

from jar import built_jar

folder = sys.argv[1]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", built_jar())
    .config("spark.jars.packages", "io.openlineage:openlineage-spark_2.13:1.53.0")
    .config("spark.extraListeners", "io.openlineage.spark.agent.OpenLineageSparkListener")
    .config("spark.openlineage.transport.type", "file")
    .config("spark.openlineage.transport.location", f"{folder}/events")
    .config("spark.sql.extensions", "versioned.spark.VersionedExtensions")
    .config("spark.sql.catalog.versioned", "versioned.spark.VersionedCatalog")
    .config("spark.sql.catalog.versioned.warehouse", f"{folder}/w")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
sql = spark.sql
sql("CREATE NAMESPACE versioned.db")
sql("CREATE TABLE versioned.db.t (id BIGINT, s STRING) TBLPROPERTIES ('x' = '1')")
sql("INSERT INTO versioned.db.t VALUES (1, 'a')")
sql("ALTER TABLE versioned.db.t RENAME COLUMN s TO name")
sql("CREATE TABLE versioned.db.u AS SELECT id, name FROM versioned.db.t")
spark.read.format("versioned").load(f"{folder}/w/db/t").write.parquet(f"{folder}/out")
sql("CREATE TABLE versioned.db.l LIKE versioned.db.t")
shown = {
    "properties": [row[0] for row in sql("SHOW TBLPROPERTIES versioned.db.t").collect()],
    "of the copy": [row[0] for row in sql("SHOW TBLPROPERTIES versioned.db.l").collect()],
    "create": sql("SHOW CREATE TABLE versioned.db.t").collect()[0][0],
    "described": [row[1] for row in sql("DESCRIBE EXTENDED versioned.db.t").collect()],
}
time.sleep(2)  # the listener is asynchronous
spark.stop()
print(json.dumps(shown))
