"""An application of Spark that traces: python run_spark.py FOLDER."""

from __future__ import annotations

import sys

import file_spans
from opentelemetry import trace
from pyspark.sql import SparkSession

from jar import built_jar
from versioned_catalog.observe.tracing import traceparent

folder = sys.argv[1]
file_spans.start()
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.jars", built_jar())
    .config("spark.sql.extensions", "versioned.spark.VersionedExtensions")
    .config("spark.sql.catalog.versioned", "versioned.spark.VersionedCatalog")
    .config("spark.sql.catalog.versioned.warehouse", f"{folder}/w")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
mine = trace.get_tracer("mine")


def statement(name: str, run: object) -> None:
    """Run a statement in a span that Spark's workers continue."""
    with mine.start_as_current_span(name):
        spark.sparkContext.setLocalProperty("traceparent", traceparent())
        run()  # type: ignore[operator]
        spark.sparkContext.setLocalProperty("traceparent", None)


sql = spark.sql
sql("CREATE NAMESPACE versioned.db")
sql("CREATE TABLE versioned.db.t (id BIGINT, s STRING)")
statement("insert", lambda: sql("INSERT INTO versioned.db.t VALUES (1, 'a'), (2, 'b')"))
statement("select", lambda: sql("SELECT * FROM versioned.db.t WHERE id > 1").collect())
statement("refused", lambda: spark.catalog.tableExists("versioned.db.nothing"))
frame = spark.createDataFrame([(3, "c"), (4, "d")], "id BIGINT, s STRING").repartition(2)
path = f"{folder}/w/db/t"
source = {"io": "python"}
statement(
    "append", lambda: frame.write.format("versioned").mode("append").options(**source).save(path)
)
statement("load", lambda: spark.read.format("versioned").options(**source).load(path).collect())
spark.read.options(**source).table("versioned.db.t").collect()
spark.stop()
