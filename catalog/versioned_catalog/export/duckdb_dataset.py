"""Rows as a PyArrow dataset that DuckDB scans with pushdown.

DuckDB pushes columns and filters down into ``pyarrow.dataset.Dataset`` and its subclasses: it calls the
``scanner`` method of the class, then ``to_reader`` of what it returns (LanceDB's datasets work like
this). It does not filter these rows again. Of an object with a PyCapsule it reads every column.

DuckDB's own filters on PyArrow data are evaluated by PyArrow, and lose rows: ``x > 1`` those in which x
is NaN, which is the greatest number in DuckDB, and ``x IN (0.0, 1.0)`` those in which it is -0.0. The
filters of a scan have DuckDB's semantics, so translated ones give DuckDB's own answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset

from versioned_catalog.export.arrow_filters import translate_arrow
from versioned_catalog.export.pushdown import Pushdown
from versioned_catalog.export.stream import Readable, record_batches


@dataclass(frozen=True)
class _Scanner:
    rows: Readable
    columns: list[str]
    filter: Any = None

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream; what was not translated is evaluated by PyArrow."""
        reader = record_batches(self.rows)
        if self.filter is None:
            return reader
        return pyarrow.dataset.Scanner.from_batches(
            reader, columns=self.columns, filter=self.filter
        ).to_reader()


class ScanDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]  # PyArrow has no types
    """The rows of a scan, read again by each query with its columns and filters."""

    def __init__(self, rows: Readable) -> None:
        self._rows = rows
        self._pushdown = Pushdown(rows.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self._rows.schema

    def scanner(
        self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any
    ) -> _Scanner:
        """Restrict the rows to columns and to those that match an expression."""
        names = self.schema.names if columns is None else list(columns)
        if filter is None:
            return _Scanner(self._rows.restricted(names), names)
        if self._rows.limit is not None:  # the limit comes before the filter
            return _Scanner(self._rows, names, translate_arrow(filter, Pushdown(())).rest)
        found = translate_arrow(filter, self._pushdown)
        if found.rest is None:
            return _Scanner(self._rows.restricted(names, found.filter), names)
        return _Scanner(self._rows.restricted(None, found.filter), names, found.rest)
