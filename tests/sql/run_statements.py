"""Run all statements of ``statements.sql`` in one session.

``python run_statements.py classic|connect WAREHOUSE`` prints, as JSON, the failures and the number of
statements that ran. This is a script because one process can't use both Connect and classic sessions.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from sql.statements import Statement, check, lines_of, statements


def run(spark: Any, statement: Statement) -> str | None:
    try:
        rows = spark.sql(statement.sql).collect()
    except Exception as error:
        if error.getCondition() is None:  # type: ignore[attr-defined]
            return f"{statement.sql}: no error condition: {error}"
        return check(statement, (), str(error))
    return check(statement, lines_of(statement, rows), None)


def session(kind: str, warehouse: str) -> Any:
    from pyspark.sql import SparkSession

    from pyspark_versioned import configure

    builder = SparkSession.builder
    builder = builder.remote("local[2]") if kind == "connect" else builder.master("local[2]")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    return configure(builder, warehouse).getOrCreate()


def main() -> None:
    spark = session(*sys.argv[1:])
    results = [run(spark, statement) for statement in statements()]
    wrong = [result for result in results if result is not None]
    print(json.dumps({"ran": len(results), "wrong": wrong, "session": type(spark).__module__}))
    spark.stop()


if __name__ == "__main__":
    main()
