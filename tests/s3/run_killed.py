"""One statement, once it is told to begin: ``python -m s3.run_killed WAREHOUSE OPTIONS STATEMENT``."""

from __future__ import annotations

import json
import sys

from s3.run_sql import session
from sql.run_killed import once_told


def main() -> None:
    _, warehouse, options, statement = sys.argv
    once_told(session("native", warehouse, json.loads(options)), statement)


if __name__ == "__main__":
    main()
