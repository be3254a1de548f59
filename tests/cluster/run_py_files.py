"""Run SQL and the data source on a cluster that has the packages only by ``--py-files``.

``spark-submit ... run_py_files.py WAREHOUSE`` prints the results as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

MERGE = """
    MERGE INTO versioned.db.t t USING (SELECT 3L AS id) s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET id = 100
"""

STATEMENTS = (
    "CREATE TABLE versioned.db.t AS SELECT id, 'n' AS name FROM range(10)",
    "INSERT INTO versioned.db.t SELECT id, 'm' FROM range(10, 20, 1, 4)",
    MERGE,
    "DELETE FROM versioned.db.t WHERE id = 100",
    "ALTER TABLE versioned.db.t ADD COLUMN s STRUCT<a: INT>",
    "INSERT INTO versioned.db.t WITH ('io' = 'python') SELECT id, 'p', null FROM range(5)",
    "CALL versioned.system.set_tag('db.t', 'good')",
)


def imported(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the path from which a task imports the package."""
    list(batches)
    import versioned_catalog

    yield pa.RecordBatch.from_pydict({"path": [versioned_catalog.__file__]})


def main() -> None:
    warehouse = sys.argv[1]
    spark: Any = SparkSession.builder.getOrCreate()
    results: dict[str, Any] = {}
    paths = spark.range(0, 2, 1, 2).mapInArrow(imported, "path STRING").collect()
    results["paths"] = sorted({row.path for row in paths})
    spark.sql("CREATE NAMESPACE versioned.db")
    for statement in STATEMENTS:
        spark.sql(statement)
    found = spark.sql("SELECT count(*), sum(id) FROM versioned.db.t").collect()
    results["sql"] = list(found[0])
    writer = spark.range(7).write.format("versioned").option("warehouse", warehouse)
    writer.option("io", "python").mode("append").save("db.p")
    reader = spark.read.format("versioned").option("warehouse", warehouse).option("io", "python")
    results["python"] = [reader.load("db.p").count(), reader.load("db.t").count()]
    print(json.dumps(results))
    spark.stop()


if __name__ == "__main__":
    main()
