"""What an export needs of a scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from versioned_catalog.expressions.filters import UnboundFilter
from versioned_catalog.types.types import Column


class Readable(Protocol):
    """Rows that can be read again, with fewer columns and rows. A ``Scan`` is one."""

    columns: tuple[Column, ...]
    limit: int | None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in batches; nothing is planned or read before the first one is asked for."""

    def to_arrow(self) -> pa.Table:
        """Read all rows."""

    def restricted(
        self,
        columns: Sequence[str] | None = None,
        filters: UnboundFilter | None = None,
        limit: int | None = None,
    ) -> Readable:
        """The same rows with some of the columns, those that match a filter, or a number of them."""
