"""One statement, once it is told to begin: ``python run_killed.py WAREHOUSE STATEMENT``."""

from __future__ import annotations

import sys
from typing import Any

from sql.run_statements import session


def main() -> None:
    _, warehouse, statement = sys.argv
    once_told(session("classic", warehouse), statement)


def once_told(spark: Any, statement: str) -> None:
    """Warm up, say so, wait for a line, and carry a statement out."""
    spark.sql("SELECT count(*) FROM versioned.n.t").collect()
    print("ready", flush=True)
    sys.stdin.readline()
    spark.sql(statement).collect()
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
