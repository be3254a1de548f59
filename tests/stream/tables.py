"""Tables and readers of streams, for the tests of streaming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from versioned_catalog import Catalog, Table
from versioned_catalog.stream.offsets import NO_LIMITS, Limits, Offset
from versioned_catalog.stream.row_stream import TableStream

Row = dict[str, Any]


def table_at(path: Path, columns: str = "id BIGINT, n INT", **given: Any) -> Table:
    return Catalog(path).create_table("t", columns, **given)


def ids(*values: int) -> pa.Table:
    """Rows of the first table above, whose ``n`` is ten times their ID."""
    return pa.table({"id": values, "n": pa.array([10 * one for one in values], pa.int32())})


class Reader:
    """A query: reads batch after batch, and remembers where it is."""

    def __init__(self, stream: TableStream, at: Offset | None = None) -> None:
        self.stream = stream
        self.at = at or stream.initial()

    def batch(self, limits: Limits = NO_LIMITS) -> list[Row]:
        """The rows of the next batch; planned again, it must have the same rows."""
        end = self.stream.latest(self.at, limits)
        rows = self.stream.read(self.at, end).to_pylist()
        start, self.at = self.at, Offset.from_json(end.to_json())
        assert self.stream.read(start, self.at).to_pylist() == rows
        return rows

    def ids(self, limits: Limits = NO_LIMITS) -> list[int]:
        return [row["id"] for row in self.batch(limits)]
