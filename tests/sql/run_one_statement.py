"""Run one statement after a line on stdin: ``python run_one_statement.py WAREHOUSE STATEMENT``."""

from __future__ import annotations

import sys
from typing import Any

from sql.run_statements import session


def main() -> None:
    _, warehouse, statement = sys.argv
    run_after_line(session("classic", warehouse), statement)


def run_after_line(spark: Any, statement: str) -> None:
    """Warm up, print ``ready``, wait for a line on stdin, and run the statement."""
    spark.sql("SELECT count(*) FROM versioned.n.t").collect()
    print("ready", flush=True)
    sys.stdin.readline()
    spark.sql(statement).collect()
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
