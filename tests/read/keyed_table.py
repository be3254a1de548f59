"""A small keyed table for tests, and its rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from versioned_catalog import Catalog, Table

DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
DDL = "host STRING, ts TIMESTAMP, v DOUBLE, w INT DEFAULT 7"


def make(folder: Any, ddl: str = DDL, **more: Any) -> Table:
    """Create a keyed table of readings by host and time."""
    key = {"primary_key": ["host"], "time_index": "ts"} | more
    return Catalog.create_path(folder, ddl, **key)


def rows(*given: tuple[Any, ...], columns: str = "host ts v") -> pa.Table:
    """Rows of readings; days are numbers."""
    names = columns.split()
    types = {
        "host": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "v": pa.float64(),
        "w": pa.int32(),
    }
    values = [[one[at] for one in given] for at in range(len(names))]
    days = {n: DAY + dt.timedelta(days=n) for n in range(-1000, 1000)}
    return pa.table(
        {
            name: pa.array([days[n] for n in column] if name == "ts" else column, types.get(name))
            for name, column in zip(names, values, strict=True)
        }
    )


def shown(table: Table, **how: Any) -> list[tuple[Any, ...]]:
    """The table's rows, sorted, with days as numbers."""
    found = table.scan(**how).to_arrow().to_pylist()
    return sorted((tuple(map(_plain, row.values())) for row in found), key=repr)


def _plain(value: Any) -> Any:
    return (value - DAY).days if isinstance(value, dt.datetime) else value
