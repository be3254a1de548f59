"""Compare the 99 TPC-DS queries on altered tables with Iceberg, Delta and plain Parquet.

Every table is loaded in four parts. Between them its keys are widened, a column is renamed, one dropped
and one moved; ``tpc`` has the rest. With ``--marks``, 1% of each table is updated before the queries,
with marks, merge on read and deletion vectors.
"""

from __future__ import annotations

from typing import Any

from benchmarks.tpc import Columns, Suite, run

DIALECT = {'"': "`"}
"""What Spark writes otherwise than DuckDB: names in quotes."""


def altered(_: str, fields: Any) -> Columns:
    """The changes of a table: they leave its columns as they are generated, but for their order."""
    types = {field.name: field.dataType.simpleString() for field in fields}
    moved, renamed = [*types][1], [*types][-1]
    keys = [name for name in types if name.endswith("_sk") and name != renamed]
    begun = {name: ("INT" if name in keys else kind, name) for name, kind in types.items()}
    begun = {f"{name}_was" if name == renamed else name: column for name, column in begun.items()}
    widened = (f"ALTER COLUMN {name} TYPE {types[name]}" for name in keys if types[name] != "int")
    return Columns(
        {**begun, "dropped": ("INT", "7")},
        (
            tuple(widened),
            (f"RENAME COLUMN {renamed}_was TO {renamed}", "DROP COLUMN dropped"),
            (f"ALTER COLUMN {moved} FIRST",),
        ),
    )


if __name__ == "__main__":
    run(Suite("tpcds", "dsdgen", altered, DIALECT, runs=3), __doc__)
