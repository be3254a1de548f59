"""One statement, once it is told to begin: ``python -m s3.run_killed WAREHOUSE OPTIONS STATEMENT``."""

from __future__ import annotations

import json
import sys

from s3.run_sql import session


def main() -> None:
    _, warehouse, options, statement = sys.argv
    spark = session("native", warehouse, json.loads(options))
    spark.sql("SELECT count(*) FROM versioned.n.t").collect()
    print("ready", flush=True)
    sys.stdin.readline()
    spark.sql(statement).collect()
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
