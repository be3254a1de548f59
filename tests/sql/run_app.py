"""Run a Spark application that reads statements as JSON lines and prints the error of each, or null."""

from __future__ import annotations

import json
import sys

from sql.run_statements import session


def main() -> None:
    spark = session("classic", sys.argv[1])
    spark.conf.set("spark.versioned.conflictRetries", 0)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        error = None
        try:
            spark.sql(json.loads(line))
        except Exception as failed:
            error = str(failed)
        print(json.dumps({"error": error}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
