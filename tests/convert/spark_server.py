"""Run SQL statements that come on standard input, one a line, and print their rows as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any


def serve(settings: dict[str, str]) -> None:
    """Run the statements that come on standard input."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        try:
            found = spark.sql(json.loads(line))
            rows = [plain(row.asDict(recursive=True)) for row in found.collect()]
            print("##" + json.dumps({"rows": rows}), flush=True)
        except Exception as error:
            print("##" + json.dumps({"error": str(error)[:3000]}), flush=True)
    spark.stop()


def plain(value: Any) -> Any:
    """A value as JSON holds it: numbers and texts, all else as Python shows it."""
    match value:
        case dict():
            return {str(plain(key)): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case float():
            return repr(value)
        case bytes() | bytearray():
            return bytes(value).hex()
        case None | bool() | int() | str():
            return value
    return str(value)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
