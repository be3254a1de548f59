"""Other engines that read a published table: DuckDB, Polars and PyIceberg.

Each returns rows as dictionaries of Python's values, of one snapshot, filtered by one comparison.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from publish.rows import Comparison, Row, condition
from versioned_catalog import Table


@dataclass(frozen=True)
class Engine:
    """An engine.

    Args:
        read: returns the rows of a metadata file, at a snapshot, filtered.
        nan_is_greatest: whether NaN is greater than all numbers, as in Spark; else it is incomparable.
            None if that depends on what else is in the file.
        knows_version_0: whether it can read snapshot 0 when there are newer ones.
        filters_old_schemas: whether a filter on an older snapshot names columns of that snapshot.
        can_filter: whether it is right to filter by a value.
    """

    name: str
    read: Callable[[str, int | None, Comparison | None], list[Row]]
    nan_is_greatest: bool | None = True
    knows_version_0: bool = True
    filters_old_schemas: bool = True
    can_filter: Callable[[Any], bool] = lambda value: True


def metadata_of(table: Table) -> str:
    """The newest metadata file of a published table."""
    folder = Path(table.location) / "iceberg" / "metadata"
    return str(folder / f"v{(folder / 'version-hint.text').read_text()}.metadata.json")


def published_versions(table: Table) -> list[int]:
    """The versions that are published."""
    return [
        one["snapshot-id"] for one in json.loads(Path(metadata_of(table)).read_text())["snapshots"]
    ]


@cache
def connect_duckdb() -> Any:
    """A connection with the extension that reads Iceberg, which PyPI has, too."""
    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("avro", "httpfs", "iceberg"):
        module = importlib.import_module(f"duckdb_extension_{name}")
        (file,) = Path(str(module.__file__)).parent.glob("extensions/**/*.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    return connection


def _duckdb(metadata: str, snapshot: int | None, where: Comparison | None) -> list[Row]:
    connection = connect_duckdb()
    version = "" if snapshot is None else f", snapshot_from_id = {snapshot}"
    sql = f"SELECT * FROM iceberg_scan('{metadata}'{version})"
    if where is not None:
        sql += f" WHERE {condition(where)}"
    rows: list[Row] = connection.execute(sql).to_arrow_table().to_pylist()
    return rows


def _polars(metadata: str, snapshot: int | None, where: Comparison | None) -> list[Row]:
    os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"  # the other one is a package of its own
    import polars as pl

    frame = pl.scan_iceberg(metadata, snapshot_id=snapshot)
    if where is not None:
        column, operator, value = where
        side = pl.col(column)
        frame = frame.filter(
            side.is_null()
            if operator == "is null"
            else {"=": side == value, "<": side < value, ">": side > value}[operator]
        )
    rows: list[Row] = frame.collect().to_dicts()
    return rows


def _pyiceberg(metadata: str, snapshot: int | None, where: Comparison | None) -> list[Row]:
    from pyiceberg.expressions import AlwaysTrue, EqualTo, GreaterThan, IsNull, LessThan
    from pyiceberg.table import StaticTable

    filters: Any = AlwaysTrue()
    if where is not None:
        column, operator, value = where
        kinds: dict[str, Any] = {"=": EqualTo, "<": LessThan, ">": GreaterThan}
        filters = (
            IsNull(column) if operator == "is null" else kinds[operator](column, _plain(value))
        )
    table = StaticTable.from_metadata(metadata)
    scan = table.scan(row_filter=filters, snapshot_id=snapshot)
    rows: list[Row] = scan.to_arrow().to_pylist()
    return rows


def _plain(value: Any) -> Any:
    """A literal as PyIceberg takes it."""
    return value.isoformat() if isinstance(value, date) else value


def abs_of(value: Any) -> Any:
    """The absolute value of a float; any other value as it is."""
    return abs(value) if isinstance(value, float) else value


DUCKDB = Engine("DuckDB", _duckdb, nan_is_greatest=None)
POLARS = Engine("Polars", _polars, knows_version_0=False)
PYICEBERG = Engine(
    "PyIceberg",
    _pyiceberg,
    nan_is_greatest=False,
    knows_version_0=False,
    filters_old_schemas=False,
    can_filter=lambda value: not isinstance(value, date) and abs_of(value) != math.inf,
)
"""Known faults of the engines are pinned in test_readers.py."""

ENGINES = (DUCKDB, POLARS, PYICEBERG)

each_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
