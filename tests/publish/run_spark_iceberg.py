"""Read published tables with Spark and Iceberg's own runtime, in an environment that has only these.

Reads a JSON list of queries from a file: the folder, the version, and a condition or null. Prints the
canonical rows of each, or an error, as one JSON list.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parent.parent))
from publish.rows import canonical

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


def session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.jars.packages", RUNTIME)
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.ansi.enabled", "true")
    return builder.getOrCreate()


def answer(spark: SparkSession, folder: str, version: int, where: str | None) -> list[str] | str:
    try:
        frame = spark.read.format("iceberg").option("versionAsOf", version).load(folder)
        found = frame if where is None else frame.where(where)
        return canonical(found.toArrow().to_pylist())
    except Exception as error:
        return str(error)[:2000]


if __name__ == "__main__":
    queries = json.loads(Path(sys.argv[1]).read_text())
    spark = session()
    print(json.dumps([answer(spark, *query) for query in queries]))
