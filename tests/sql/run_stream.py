"""Stream a table into another after a line on stdin: ``run_stream.py WAREHOUSE CHECKPOINT COLUMNS``."""

from __future__ import annotations

import sys

from sql.run_statements import session


def main() -> None:
    _, warehouse, checkpoint, columns = sys.argv
    spark = session("classic", warehouse)
    spark.sql("SELECT count(*) FROM versioned.n.a").collect()
    print("ready", flush=True)
    sys.stdin.readline()
    rows = spark.readStream.option("maxSegmentsPerTrigger", 1).table("versioned.n.a")
    writer = rows.selectExpr(*columns.split(",")).writeStream.trigger(availableNow=True)
    writer.option("checkpointLocation", checkpoint).toTable("versioned.n.b").awaitTermination()
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
