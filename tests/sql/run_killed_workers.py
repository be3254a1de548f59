"""Run statements whose Python worker is killed while it commits.

``python run_killed_workers.py WAREHOUSE`` prints the tables after each statement as JSON. This is a
script because the workers need ``killed_workers/sitecustomize.py`` on their path.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from sql.run_statements import session
from versioned_catalog import Catalog

STATEMENTS = {
    "append": "INSERT INTO {t} VALUES (2, 'y')",
    "overwrite": "INSERT OVERWRITE {t} VALUES (2, 'y')",
    "truncate": "TRUNCATE TABLE {t}",
    "alter": "ALTER TABLE {t} ADD COLUMN c INT DEFAULT 7",
    "rename column": "ALTER TABLE {t} RENAME COLUMN k TO a2",
    "properties": "ALTER TABLE {t} SET TBLPROPERTIES ('x' = 'y')",
    "replace": "CREATE OR REPLACE TABLE {t} (n INT)",
    "replace as": "CREATE OR REPLACE TABLE {t} AS SELECT 5 AS n",
    "create": "CREATE TABLE {new} (n INT)",
    "create as": "CREATE TABLE {new} AS SELECT 5 AS n",
    "rename": "ALTER TABLE {t} RENAME TO {renamed}",
    "drop": "DROP TABLE {t}",
    "create namespace": "CREATE NAMESPACE {ns}.inner",
}


def tables_of(catalog: Catalog, ns: str) -> dict[str, Any]:
    """Each table of a namespace: the number of commits after the first two, its columns and rows."""
    tables = {}
    for name in catalog.list_tables(ns):
        table = catalog.load_table(f"{ns}.{name}")
        rows = sorted(table.scan().to_arrow().to_pylist(), key=repr)
        tables[name] = {
            "commits": table.version - 1,
            "columns": [column.name for column in table.schema.columns],
            "rows": [list(row.values()) for row in rows],
        }
    return {"tables": tables, "namespaces": catalog.list_namespaces(ns)}


def outcome(spark: Any, catalog: Catalog, ns: str, statement: str, kills: dict[str, int]) -> Any:
    spark.sql(f"CREATE NAMESPACE versioned.{ns}")
    spark.sql(f"CREATE TABLE versioned.{ns}.t (a INT, k STRING)")
    spark.sql(f"INSERT INTO versioned.{ns}.t VALUES (1, 'x')")
    folder = Path(os.environ["KILL_FOLDER"])
    for when, count in kills.items():
        (folder / when).write_text(str(count))
    error = None
    try:
        names = {n: f"versioned.{ns}.{n}" for n in ("t", "new")}
        spark.sql(statement.format(**names, renamed=f"{ns}.renamed", ns=f"versioned.{ns}"))
    except Exception as failed:
        error = str(failed)
    left = {when: (folder / when).read_text() for when in kills}
    for when in kills:
        (folder / when).unlink()
    return {"error": error, "kills left": left, **tables_of(catalog, ns)}


def main() -> None:
    spark, catalog = session("classic", sys.argv[1]), Catalog(sys.argv[1])
    outcomes = {}
    for at, (name, statement) in enumerate(STATEMENTS.items()):
        for when in ("before", "after"):
            outcomes[f"{name}, {when}"] = outcome(
                spark, catalog, f"{when}{at}", statement, {when: 1}
            )
    always = {"before": 99}
    outcomes["always"] = outcome(spark, catalog, "always", STATEMENTS["append"], always)
    print(json.dumps(outcomes))
    spark.stop()


if __name__ == "__main__":
    main()
