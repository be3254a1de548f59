"""Run one statement after a line on stdin.

Usage: ``python -m s3.run_one_statement WAREHOUSE OPTIONS STATEMENT``.
"""

from __future__ import annotations

import json
import sys

from s3.run_sql import session
from sql.run_one_statement import run_after_line


def main() -> None:
    _, warehouse, options, statement = sys.argv
    run_after_line(session("native", warehouse, json.loads(options)), statement)


if __name__ == "__main__":
    main()
