"""Rows as an Arrow stream, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from versioned_catalog.model.types import Column
from versioned_catalog.read.arrays import recast
from versioned_catalog.read.filters import UnboundFilter


class Readable(Protocol):
    """Rows that can be read again, with fewer columns and rows. A ``Scan`` is one."""

    columns: tuple[Column, ...]
    limit: int | None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in batches; planning starts when the first batch is requested."""

    def to_arrow(self) -> pa.Table:
        """Read all rows."""

    def restricted(
        self,
        columns: Sequence[str] | None = None,
        filters: UnboundFilter | None = None,
        limit: int | None = None,
    ) -> Readable:
        """The same rows with some of the columns, those that match a filter, or a number of them."""


def record_batches(rows: Readable) -> pa.RecordBatchReader:
    """A reader of the rows, which plans when the first batch is requested and holds one batch."""
    return pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())


def stream_capsule(rows: Readable, requested_schema: Any = None) -> Any:
    """The PyCapsule of ``record_batches``: Arrow's PyCapsule interface.

    Engines open a stream only to read its schema, so opening must cost nothing.

    Args:
        requested_schema: capsule of the schema that the consumer prefers; the types are cast to it, and
            it must have the same names.
    """
    return capsule_of(record_batches(rows), requested_schema)


def capsule_of(batches: pa.RecordBatchReader, requested_schema: Any = None) -> Any:
    """The PyCapsule of batches in a requested schema. Arrow would show missing fields as null."""
    if requested_schema is None:
        return batches.__arrow_c_stream__()
    wanted = pa.Schema._import_from_c_capsule(requested_schema)
    if wanted.names != batches.schema.names:
        raise pa.ArrowTypeError(f"the columns are {batches.schema.names}, requested {wanted.names}")

    def cast() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = [recast(*pair) for pair in zip(batch.columns, wanted.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=wanted)

    return pa.RecordBatchReader.from_batches(wanted, cast()).__arrow_c_stream__()
